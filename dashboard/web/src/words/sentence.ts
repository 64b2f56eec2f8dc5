// The one sentence about a cluster: what it waits for, since when, until when that is normal, what to do.

import type { ClusterRow } from '../store/columns';
import { isInFlight } from './states';
import { printable, TODO } from './text';
import { duration, moment } from './time';

export interface Sentence {
  /** What it waits for, or what became of it. */
  what: string;
  /** Since when, until when that is normal, when a window opens. */
  when: string;
  /** Whether it takes longer than is normal. */
  late: boolean;
  /** What to do. */
  todo: string;
}

export function isLate(row: Pick<ClusterRow, 'state' | 'normalUntil'>, now: number): boolean {
  return row.normalUntil > 0 && row.normalUntil < now && row.state !== 'Complete' && row.state !== 'Failed';
}

export function sentence(row: ClusterRow, now: number): Sentence {
  const late = isLate(row, now);
  const parts: string[] = [];
  if (row.since > 0) parts.push(`since ${moment(row.since, now)} (${duration(now - row.since)})`);
  if (row.normalUntil > 0 && row.state !== 'Complete' && row.state !== 'Failed') {
    parts.push(
      late
        ? `normal until ${moment(row.normalUntil, now)}: ${duration(now - row.normalUntil)} longer than usual`
        : `normal until ${moment(row.normalUntil, now)}`,
    );
  }
  if (row.windowOpens > now) parts.push(`may start at ${moment(row.windowOpens, now)}`);
  return { what: what(row), when: parts.join(', '), late, todo: row.todo ? printable(row.todo, TODO) : nothing(row, late) };
}

/** The sentence in one piece, for screen readers. */
export function spoken(row: ClusterRow, now: number): string {
  const { what, when, todo } = sentence(row, now);
  const name = printable(row.name, 63);
  return `${name}: ${row.state || 'no upgrade'}. ${what}${when ? `, ${when}` : ''}. What to do: ${todo}.`;
}

function what(row: ClusterRow): string {
  const message = printable(row.message).replace(/\.$/, '');
  if (row.state === '') return [message || 'no upgrade has it', !row.available && 'not available'].filter(Boolean).join('; ');
  return message || row.reason || row.state;
}

function nothing(row: ClusterRow, late: boolean): string {
  if (row.state === 'Failed') return 'see the message, then retry it';
  if (late && isInFlight(row.state)) return 'look at the cluster; it ends with its timeout at the latest';
  if (isInFlight(row.state) && row.normalUntil > 0) return 'nothing until then, unless its message asks for it';
  return 'nothing';
}
