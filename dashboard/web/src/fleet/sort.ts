// The order of the table's rows.

import type { ClusterTable, NumberColumn, WordColumn } from '../store/columns';
import { naturalCompare } from '../store/natural';
import { LEVELS, STATES } from '../words/states';

const BY_WORD: WordColumn[] = ['version', 'state', 'reason', 'upgrade', 'finding'];
const BY_NUMBER: NumberColumn[] = ['since', 'normalUntil', 'windowOpens'];

/** Rows in the order of a column; those of equal values stay in the order of names. */
export function sortRows(table: ClusterTable, rows: Uint32Array, column: string, descending: boolean): Uint32Array {
  const key = keys(table, rows, column);
  if (!key) return descending ? rows.slice().reverse() : rows;
  const sign = descending ? -1 : 1;
  return rows.slice().sort((a, b) => sign * ((key[a] as number) - (key[b] as number)) || a - b);
}

function keys(table: ClusterTable, rows: Uint32Array, column: string): ArrayLike<number> | undefined {
  if (BY_NUMBER.includes(column as NumberColumn)) return table.columns[column as NumberColumn];
  if (!BY_WORD.includes(column as WordColumn)) return undefined;
  const array = table.columns[column as WordColumn];
  const words = [...new Set(rows.map((row) => array[row] as number))];
  words.sort((a, b) => rank(column, table.words.get(a), table.words.get(b)));
  const place = new Map(words.map((word, i) => [word, i]));
  const found = new Uint32Array(table.length);
  for (const row of rows) found[row] = place.get(array[row] as number) as number;
  return found;
}

function rank(column: string, a: string, b: string): number {
  const order: readonly string[] = column === 'state' ? STATES : column === 'finding' ? LEVELS : [];
  const [x, y] = [order.indexOf(a), order.indexOf(b)];
  if (x !== y) return (x < 0 ? order.length : x) - (y < 0 ? order.length : y);
  return naturalCompare(a, b);
}
