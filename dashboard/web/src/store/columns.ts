// The clusters in typed arrays: 10,000 rows are 600 KB, and a change writes numbers.

import type { Columns } from '../api/types';
import { naturalCompare } from './natural';
import { Words } from './words';

/** Columns that are indexes into the words. */
export const WORD_COLUMNS = ['version', 'state', 'reason', 'message', 'upgrade', 'finding', 'labels', 'todo'] as const;
/** Columns that are numbers by themselves. */
export const NUMBER_COLUMNS = ['canary', 'available', 'since', 'normalUntil', 'windowOpens'] as const;
export type WordColumn = (typeof WORD_COLUMNS)[number];
export type NumberColumn = (typeof NUMBER_COLUMNS)[number];
const ALL = [...WORD_COLUMNS, ...NUMBER_COLUMNS];

type Arrays = Record<WordColumn | NumberColumn, Uint32Array>;

/** One cluster with its words. */
export type ClusterRow = { row: number; name: string } & Record<WordColumn, string> & Record<NumberColumn, number>;

export class ClusterTable {
  words = new Words();
  name: string[] = [];
  columns: Arrays = empty(0);
  private rows = new Map<string, number>();

  get length(): number {
    return this.name.length;
  }

  find(name: string): number {
    return this.rows.get(name) ?? -1;
  }

  word(column: WordColumn, row: number): string {
    return this.words.get(this.columns[column][row] ?? 0);
  }

  read(row: number): ClusterRow {
    const found = { row, name: this.name[row] ?? '' } as ClusterRow;
    for (const column of WORD_COLUMNS) found[column] = this.word(column, row);
    for (const column of NUMBER_COLUMNS) found[column] = this.columns[column][row] ?? 0;
    return found;
  }

  /** Replaces everything. */
  load(from: Columns): void {
    this.words = new Words();
    this.name = from.name.slice();
    this.columns = empty(this.name.length);
    this.rows = new Map(this.name.map((name, row) => [name, row]));
    const own = this.internAll(from.words);
    for (let row = 0; row < this.name.length; row++) this.write(row, from, row, own);
  }

  /** Writes rows that have changed, and adds those that are new. Gives the rows written, or undefined if rows have moved. */
  update(from: Columns): number[] | undefined {
    const added = from.name.filter((name) => !this.rows.has(name));
    if (added.length > 0) this.rebuild([...this.name, ...new Set(added)].sort(naturalCompare));
    const own = this.internAll(from.words);
    const written: number[] = [];
    for (let source = 0; source < from.name.length; source++) {
      const row = this.find(from.name[source] as string);
      this.write(row, from, source, own);
      written.push(row);
    }
    this.dropUnusedWords();
    return added.length > 0 ? undefined : written;
  }

  /** Takes clusters out; says whether there was one. */
  remove(names: string[]): boolean {
    const gone = new Set(names.filter((name) => this.rows.has(name)));
    if (gone.size === 0) return false;
    this.rebuild(this.name.filter((name) => !gone.has(name)));
    return true;
  }

  private internAll(words: string[]): Uint32Array {
    return Uint32Array.from(words, (word) => this.words.intern(word));
  }

  private write(row: number, from: Columns, source: number, own: Uint32Array): void {
    for (const column of WORD_COLUMNS) this.columns[column][row] = own[from[column]?.[source] ?? 0] ?? 0;
    for (const column of NUMBER_COLUMNS) this.columns[column][row] = from[column]?.[source] ?? 0;
  }

  private rebuild(names: string[]): void {
    const columns = empty(names.length);
    names.forEach((name, row) => {
      const before = this.rows.get(name);
      if (before === undefined) return;
      for (const column of ALL) columns[column][row] = this.columns[column][before] as number;
    });
    this.name = names;
    this.columns = columns;
    this.rows = new Map(names.map((name, row) => [name, row]));
  }

  /** Messages come and go: without this, a page that is open for a week would hold all of them. */
  private dropUnusedWords(): void {
    if (this.words.size < 4096 + 4 * this.length) return;
    const words = new Words();
    for (const column of WORD_COLUMNS) {
      const array = this.columns[column];
      for (let row = 0; row < array.length; row++) array[row] = words.intern(this.words.get(array[row] as number));
    }
    this.words = words;
  }
}

function empty(length: number): Arrays {
  return Object.fromEntries(ALL.map((column) => [column, new Uint32Array(length)])) as Arrays;
}
