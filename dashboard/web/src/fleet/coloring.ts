// Which color each cluster has, and the legend of it.

import type { ClusterTable, WordColumn } from '../store/columns';
import { naturalCompare } from '../store/natural';
import { LEVELS, STATES, STATE_MEANING } from '../words/states';
import { type ColorMode, SLOTS, type Slot } from './color-modes';
import { WINDOW_LABEL, WINDOWS, windowClasses } from './windows';

export interface LegendEntry {
  /** What a filter asks for; undefined for "others", for which no filter is. */
  value: string | undefined;
  label: string;
  meaning?: string | undefined;
  slot: Slot;
  count: number;
}

export interface Coloring {
  legend: LegendEntry[];
  /** For each row of the table the index of its color in SLOTS. */
  slots: Uint8Array;
}

const STATE_SLOTS: Slot[] = ['idle', 'prepare', 'asked', 'working', 'operators', 'after', 'done', 'failed'];
const LEVEL_SLOTS: Slot[] = ['critical', 'error', 'warning', 'unknown', 'info'];
const WINDOW_SLOTS: Slot[] = ['done', 'soon', 'today', 'week', 'later', 'failed', 'none'];
const CATEGORIES: Slot[] = ['cat0', 'cat1', 'cat2', 'cat3', 'cat4', 'cat5', 'cat6', 'cat7'];

export function coloring(table: ClusterTable, rows: Uint32Array, mode: ColorMode, now: number): Coloring {
  switch (mode) {
    case 'state':
      return byWord(table, rows, 'state', fixed(STATES, STATE_SLOTS, 'no upgrade', STATE_MEANING));
    case 'finding':
      return byWord(table, rows, 'finding', fixed(LEVELS, LEVEL_SLOTS, 'no open finding'));
    case 'version':
      return byWord(table, rows, 'version', frequent(table, rows, 'version', 'not known'));
    case 'upgrade':
      return byWord(table, rows, 'upgrade', frequent(table, rows, 'upgrade', 'no upgrade'));
    case 'window':
      return byWindow(table, rows, now);
  }
}

type Choices = Omit<LegendEntry, 'count'>[];

function fixed(values: readonly string[], slots: Slot[], none: string, meaning: Record<string, string> = {}): Choices {
  const choices: Choices = values.map((value, i) => ({
    value,
    label: value,
    meaning: meaning[value],
    slot: slots[i] as Slot,
  }));
  // A newer server may have words that this page does not know.
  return [...choices, { value: undefined, label: 'others', slot: 'other' }, { value: '', label: none, meaning: meaning[''], slot: 'none' }];
}

/** The values that most clusters have, the highest first; all others share a color. */
function frequent(table: ClusterTable, rows: Uint32Array, column: WordColumn, none: string): Choices {
  const counts = new Map<number, number>();
  const array = table.columns[column];
  for (const row of rows) counts.set(array[row] as number, (counts.get(array[row] as number) ?? 0) + 1);
  counts.delete(0);
  const most = [...counts].sort((a, b) => b[1] - a[1] || a[0] - b[0]).slice(0, CATEGORIES.length);
  const names = most.map(([word]) => table.words.get(word)).sort((a, b) => naturalCompare(b, a));
  const choices: Choices = names.map((value, i) => ({ value, label: value, slot: CATEGORIES[i] as Slot }));
  if (counts.size > CATEGORIES.length) choices.push({ value: undefined, label: 'others', slot: 'other' });
  return [...choices, { value: '', label: none, slot: 'none' }];
}

function byWord(table: ClusterTable, rows: Uint32Array, column: WordColumn, choices: Choices): Coloring {
  const others = choices.findIndex((choice) => choice.value === undefined);
  const fallback = others < 0 ? choices.length - 1 : others;
  const entryOf = new Uint8Array(table.words.size).fill(fallback);
  choices.forEach((choice, entry) => {
    const word = choice.value === undefined ? -1 : table.words.find(choice.value);
    if (word >= 0) entryOf[word] = entry;
  });
  const array = table.columns[column];
  return paint(table, rows, choices, (row) => entryOf[array[row] as number] as number);
}

function byWindow(table: ClusterTable, rows: Uint32Array, now: number): Coloring {
  const choices: Choices = WINDOWS.map((value, i) => ({
    value,
    label: WINDOW_LABEL[value],
    slot: WINDOW_SLOTS[i] as Slot,
  }));
  const classOf = windowClasses(table, now);
  return paint(table, rows, choices, (row) => WINDOWS.indexOf(classOf(row)));
}

function paint(table: ClusterTable, rows: Uint32Array, choices: Choices, entryOf: (row: number) => number): Coloring {
  const legend = choices.map((choice) => ({ ...choice, count: 0 }));
  const slots = new Uint8Array(table.length);
  const slotOf = choices.map((choice) => SLOTS.indexOf(choice.slot));
  for (const row of rows) {
    const entry = entryOf(row);
    (legend[entry] as LegendEntry).count++;
    slots[row] = slotOf[entry] as number;
  }
  return { legend: legend.filter((entry) => entry.count > 0), slots };
}
