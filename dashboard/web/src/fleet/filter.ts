// Which clusters are shown. Cells and table use the same rows.

import type { ClusterTable, WordColumn } from '../store/columns';
import { type FilterColumn, type FleetQuery } from '../url/route';
import { IN_FLIGHT, isInFlight } from '../words/states';
import { parseLabels, parseSelector } from './selector';
import { windowClasses } from './windows';

export interface Filtered {
  /** The rows of the table that match, in its order. */
  rows: Uint32Array;
  /** What is wrong with the label selector; then it is not applied. */
  error: string | undefined;
}

type Test = (row: number) => boolean;

/** Columns in whose words the text is searched, besides the name. */
const SEARCHED: WordColumn[] = ['version', 'state', 'reason', 'message', 'upgrade', 'labels'];

export function filterRows(table: ClusterTable, query: FleetQuery, now: number): Filtered {
  const tests: Test[] = [];
  for (const [column, value] of Object.entries(query.only)) tests.push(byColumn(table, column as FilterColumn, value, now));
  let error: string | undefined;
  if (query.labels.trim() !== '') {
    const selector = parseSelector(query.labels);
    if ('error' in selector) error = selector.error;
    else tests.push(byWord(table, 'labels', (labels) => selector.matches(parseLabels(labels))));
  }
  for (const term of query.text.toLowerCase().split(/\s+/).filter(Boolean)) tests.push(byText(table, term));
  return { rows: select(table.length, tests), error };
}

function select(length: number, tests: Test[]): Uint32Array {
  const rows = new Uint32Array(length);
  let found = 0;
  for (let row = 0; row < length; row++) {
    if (tests.every((test) => test(row))) rows[found++] = row;
  }
  return rows.subarray(0, found);
}

function byColumn(table: ClusterTable, column: FilterColumn, value: string, now: number): Test {
  if (column === 'window') {
    const classOf = windowClasses(table, now);
    return (row) => classOf(row) === value;
  }
  if (column === 'state' && value === IN_FLIGHT) return byWord(table, 'state', isInFlight);
  const array = table.columns[column];
  const word = table.words.find(value);
  return (row) => array[row] === word;
}

/** A test of a word, made once for each word that occurs. */
function byWord(table: ClusterTable, column: WordColumn, test: (word: string) => boolean): Test {
  const array = table.columns[column];
  const known = new Int8Array(table.words.size).fill(-1);
  return (row) => {
    const word = array[row] as number;
    if (known[word] === -1) known[word] = test(table.words.get(word)) ? 1 : 0;
    return known[word] === 1;
  };
}

function byText(table: ClusterTable, term: string): Test {
  const tests = SEARCHED.map((column) => byWord(table, column, (word) => word.toLowerCase().includes(term)));
  return (row) => (table.name[row] as string).toLowerCase().includes(term) || tests.some((test) => test(row));
}
