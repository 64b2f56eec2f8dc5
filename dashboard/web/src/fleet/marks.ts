// Marks on the cells, so that color is not all that tells.

import type { ClusterTable } from '../store/columns';

/** As bits. */
export const MARK = { late: 1, failed: 2, unavailable: 4, canary: 8 } as const;
export type Mark = keyof typeof MARK;

export interface Marks {
  /** For each row of the table. */
  of: Uint8Array;
  /** How many clusters have each. */
  counts: Record<Mark, number>;
}

export function marks(table: ClusterTable, rows: Uint32Array, now: number): Marks {
  const of = new Uint8Array(table.length);
  const counts = { late: 0, failed: 0, unavailable: 0, canary: 0 };
  const failed = table.words.find('Failed');
  const complete = table.words.find('Complete');
  const { state, normalUntil, available, canary } = table.columns;
  for (const row of rows) {
    const set = (mark: Mark) => {
      of[row] = (of[row] as number) | MARK[mark];
      counts[mark]++;
    };
    const until = normalUntil[row] as number;
    if (state[row] === failed) set('failed');
    else if (until > 0 && until < now && state[row] !== complete) set('late');
    if (!available[row]) set('unavailable');
    if (canary[row]) set('canary');
  }
  return { of, counts };
}
