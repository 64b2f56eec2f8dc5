// Which upgrades are shown first.

import type { Counts, Upgrade } from '../api/types';
import { naturalCompare } from '../store/natural';
import { own } from '../words/own';

/** Halts that pass by themselves, in a word: nobody has to look at them. */
const PASSING: Readonly<Record<string, string>> = { CanarySoaking: 'soaking', AwaitingStartWindow: 'awaits its window', Frozen: 'frozen' };

/** What an upgrade does in a halt whose end needs nobody; undefined if the halt needs somebody. */
export function passing(reason: string): string | undefined {
  return own(PASSING, reason);
}

/** Whether all clusters have ended, one way or the other. */
export function hasEnded(counts: Counts): boolean {
  return counts.selected > 0 && counts.notStarted === 0 && counts.inFlight === 0 && counts.other === 0;
}

export function isComplete(counts: Counts): boolean {
  return counts.selected > 0 && counts.complete === counts.selected;
}

/** What needs attention first, then what runs, waits, and is paused, then what is over. */
export function order(a: Upgrade, b: Upgrade): number {
  return rank(a) - rank(b) || naturalCompare(a.key, b.key);
}

function rank(upgrade: Upgrade): number {
  const { counts } = upgrade;
  const invalid = upgrade.phase === 'Failed' || upgrade.halt?.reason === 'InvalidSpec';
  // What was never right selects nothing, but somebody expects that it runs.
  if (counts.selected === 0) return invalid && !upgrade.paused ? 0 : 5;
  if (isComplete(counts)) return 4;
  // A cluster that has failed is left to be retried.
  if (invalid || counts.failed > 0 || isStopped(upgrade)) return 0;
  if (counts.inFlight > 0) return 1;
  if (upgrade.paused) return hasEnded(counts) ? 4 : 3;
  return 2;
}

function isStopped({ halt, paused }: Upgrade): boolean {
  return halt !== undefined && !paused && halt.reason !== 'Paused' && passing(halt.reason) === undefined;
}
