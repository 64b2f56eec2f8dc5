// For tests alone.

import type { Columns } from '../api/types';

export type Row = { name: string; state?: string; reason?: string; message?: string; since?: number };

/** Columns as the server writes them, with words of their own. */
export function columns(rows: Row[]): Columns {
  const words = [''];
  const intern = (text = '') => {
    if (!words.includes(text)) words.push(text);
    return words.indexOf(text);
  };
  const zero = () => rows.map(() => 0);
  return {
    words,
    name: rows.map((row) => row.name),
    state: rows.map((row) => intern(row.state)),
    message: rows.map((row) => intern(row.message)),
    since: rows.map((row) => row.since ?? 0),
    version: zero(),
    reason: rows.map((row) => intern(row.reason)),
    upgrade: zero(),
    canary: zero(),
    available: zero(),
    normalUntil: zero(),
    windowOpens: zero(),
    finding: zero(),
    labels: zero(),
    todo: zero(),
  };
}
