import { expect, it } from 'vitest';
import type { Upgrade } from '../api/types';
import { hasEnded, order } from './upgrade-order';

type Part = Partial<Omit<Upgrade, 'counts' | 'halt'>> & { halt?: string };

function upgrade(key: string, [notStarted, inFlight, complete, failed]: [number, number, number, number], { halt, ...part }: Part = {}): Upgrade {
  const counts = { selected: notStarted + inFlight + complete + failed, notStarted, inFlight, complete, failed, other: 0 };
  return { key, uid: key, generation: 1, target: '4.18.9', phase: 'InProgress', paused: false, states: {}, message: '', counts, ...(halt ? { halt: { reason: halt, message: '' } } : {}), ...part };
}

it('what needs attention comes first, what has nothing left comes last', () => {
  const paused: Part = { paused: true, halt: 'Paused', phase: 'Paused' };
  const upgrades = [
    upgrade('a/failing', [3, 1, 1, 1]),
    upgrade('a/invalid', [0, 0, 0, 0], { phase: 'Failed', halt: 'InvalidSpec' }),
    upgrade('a/paused-failing', [3, 0, 0, 1], paused),
    upgrade('a/stopped', [3, 0, 2, 0], { halt: 'FailureBudgetSpent' }),
    upgrade('b/runs', [3, 1, 0, 0]),
    upgrade('b/soaks-2', [3, 2, 0, 0], { halt: 'CanarySoaking' }),
    upgrade('b/soaks-10', [3, 2, 0, 0], { halt: 'CanarySoaking' }),
    upgrade('c/frozen', [3, 0, 0, 0], { halt: 'Frozen' }),
    upgrade('c/waits', [3, 0, 0, 0]),
    upgrade('d/paused', [3, 0, 2, 0], paused),
    upgrade('e/complete', [0, 0, 3, 0]),
    upgrade('e/complete-paused', [0, 0, 3, 0], paused),
    upgrade('f/empty', [0, 0, 0, 0]),
    upgrade('f/empty-paused', [0, 0, 0, 0], paused),
  ];
  const keys = upgrades.map(({ key }) => key);
  expect(upgrades.slice().reverse().sort(order).map(({ key }) => key)).toEqual(keys);
});

it('an upgrade has ended when no cluster is left', () => {
  expect(hasEnded(upgrade('a', [0, 0, 3, 1]).counts)).toBe(true);
  expect(hasEnded(upgrade('a', [0, 1, 3, 0]).counts)).toBe(false);
  expect(hasEnded(upgrade('a', [0, 0, 0, 0]).counts)).toBe(false);
});
