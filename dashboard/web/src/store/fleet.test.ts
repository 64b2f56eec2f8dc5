import { describe, expect, it } from 'vitest';
import type { Change, Snapshot } from '../api/types';
import { Fleet } from './fleet';
import { columns, type Row } from './test-columns';

const snapshot = (revision: number, rows: Row[]): Snapshot => ({ revision, now: 1000, upgrades: [], clusters: columns(rows) });
const change = (revision: number, more: Partial<Change>): Change => ({ revision, now: 1000, ...more });
const states = (fleet: Fleet) => fleet.clusters.name.map((name, row) => `${name}:${fleet.clusters.word('state', row)}`);

function loaded(): Fleet {
  const fleet = new Fleet();
  fleet.load(snapshot(10, [{ name: 'dev1', state: 'NotStarted' }, { name: 'dev2', state: 'Complete' }, { name: 'dev10', state: 'Failed' }]));
  return fleet;
}

describe('the fleet', () => {
  it('takes over a snapshot', () => {
    const fleet = loaded();
    expect(states(fleet)).toEqual(['dev1:NotStarted', 'dev2:Complete', 'dev10:Failed']);
    expect(fleet.revision).toBe(10);
    expect(fleet.clusters.read(2)).toMatchObject({ name: 'dev10', state: 'Failed', since: 0 });
  });

  it('forgets all of it, and says so', () => {
    const fleet = loaded();
    const seen: unknown[] = [];
    fleet.subscribe((update) => seen.push(update));
    fleet.clear();
    expect([fleet.clusters.length, fleet.revision]).toEqual([0, undefined]);
    expect(seen).toEqual([{ rows: undefined, upgrades: true }]);
  });

  it('writes the rows of a change whose words have other indexes', () => {
    const fleet = loaded();
    const seen: unknown[] = [];
    fleet.subscribe((update) => seen.push(update));
    fleet.apply(change(11, { clusters: columns([{ name: 'dev10', state: 'PreAction', message: 'new', since: 7 }]) }));
    expect(states(fleet)).toEqual(['dev1:NotStarted', 'dev2:Complete', 'dev10:PreAction']);
    expect(fleet.clusters.read(2)).toMatchObject({ message: 'new', since: 7 });
    expect(seen).toEqual([{ rows: [2], upgrades: false }]);
  });

  it('puts new clusters where natural order has them', () => {
    const fleet = loaded();
    fleet.apply(change(11, { clusters: columns([{ name: 'dev9', state: 'Failed' }]) }));
    expect(states(fleet)).toEqual(['dev1:NotStarted', 'dev2:Complete', 'dev9:Failed', 'dev10:Failed']);
    expect(fleet.clusters.find('dev10')).toBe(3);
  });

  it('takes clusters out, and tells that rows have moved', () => {
    const fleet = loaded();
    let rows: unknown = 'none';
    fleet.subscribe((update) => (rows = update.rows));
    fleet.apply(change(11, { removedClusters: ['dev2', 'never-there'] }));
    expect(states(fleet)).toEqual(['dev1:NotStarted', 'dev10:Failed']);
    expect(rows).toBeUndefined();
  });

  it('takes out and adds one of the same name in a change', () => {
    const fleet = loaded();
    fleet.apply(change(11, { removedClusters: ['dev1'], clusters: columns([{ name: 'dev1', state: 'Failed' }]) }));
    expect(states(fleet)).toEqual(['dev1:Failed', 'dev2:Complete', 'dev10:Failed']);
  });

  it('ignores a change that comes twice', () => {
    const fleet = loaded();
    fleet.apply(change(11, { clusters: columns([{ name: 'dev1', state: 'Complete' }]) }));
    fleet.apply(change(11, { clusters: columns([{ name: 'dev1', state: 'Failed' }]) }));
    expect(states(fleet)[0]).toBe('dev1:Complete');
  });

  it('replaces everything at a new snapshot, an older revision included', () => {
    const fleet = loaded();
    fleet.load(snapshot(3, [{ name: 'only', state: 'Complete' }]));
    expect(states(fleet)).toEqual(['only:Complete']);
    expect(fleet.revision).toBe(3);
  });

  it('keeps, changes and drops upgrades', () => {
    const fleet = loaded();
    const upgrade = (key: string) => ({ key, uid: key, generation: 1, target: '4.18.9', phase: 'InProgress', paused: false, counts: { selected: 0, notStarted: 0, inFlight: 0, complete: 0, failed: 0, other: 0 }, states: {}, message: '' });
    fleet.apply(change(11, { upgrades: [upgrade('a/b'), upgrade('a/c')] }));
    fleet.apply(change(12, { removedUpgrades: ['a/b'] }));
    expect([...fleet.upgrades.keys()]).toEqual(['a/c']);
  });

  it('does not keep messages that nobody has any more', () => {
    const fleet = loaded();
    for (let i = 0; i < 20_000; i++) fleet.apply(change(11 + i, { clusters: columns([{ name: 'dev1', state: 'PreAction', message: `message ${i}` }]) }));
    expect(fleet.clusters.words.size).toBeLessThan(5000);
    expect(fleet.clusters.read(0)).toMatchObject({ state: 'PreAction', message: 'message 19999' });
    expect(states(fleet).slice(1)).toEqual(['dev2:Complete', 'dev10:Failed']);
  });
});
