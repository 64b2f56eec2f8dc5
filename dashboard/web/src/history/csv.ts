// The history for spreadsheets, with the names of columns that `kubectl drydock history -o csv` has where it has the same.

import type { HistoryRow } from '../api/types';
import { iso } from '../words/time';
import { printable } from '../words/text';

const COLUMNS: [string, (row: HistoryRow) => string | number | boolean | undefined][] = [
  ['ended_at', (row) => iso(row.endedAt)],
  ['namespace', (row) => row.upgrade.split('/')[0]],
  ['upgrade', (row) => row.upgrade.split('/').slice(1).join('/')],
  ['upgrade_deleted', (row) => row.deleted ?? false],
  ['target', (row) => row.target],
  ['rollout_since', (row) => iso(row.rolloutSince)],
  ['started_by', (row) => row.by],
  ['cluster', (row) => row.cluster],
  ['canary', (row) => row.canary],
  ['outcome', (row) => row.outcome],
  ['reason', (row) => row.reason],
  ['message', (row) => row.message],
  ['from', (row) => row.from],
  ['to', (row) => row.to],
  ['started_at', (row) => iso(row.startedAt)],
  ['attempt', (row) => row.attempt],
  ['actual_seconds', (row) => row.actualSeconds],
  ['forecast_p10', (row) => iso(row.forecast?.p10)],
  ['forecast_p50', (row) => iso(row.forecast?.p50)],
  ['forecast_p90', (row) => iso(row.forecast?.p90)],
  ['rollout_ended', (row) => iso(row.forecast?.ended)],
  ['forecast_error_seconds', (row) => row.forecast?.errorSeconds],
  ['forecast_within_band', (row) => row.forecast?.withinBand],
];

export function csv(rows: HistoryRow[]): string {
  const lines = [COLUMNS.map(([name]) => name)];
  for (const row of rows) lines.push(COLUMNS.map(([, value]) => field(value(row))));
  return `${lines.map((line) => line.join(',')).join('\n')}\n`;
}

function field(value: string | number | boolean | undefined): string {
  if (value === undefined) return '';
  if (typeof value !== 'string') return String(value);
  const text = inert(printable(value, 10_000));
  return /[",;\t\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/**
 * A spreadsheet must not take a text of a cluster for a formula: not at its beginning, also after blanks, nor after what separates cells
 * or lines in the spreadsheets of other countries, which do not heed a quote within their cell. Wide signs count as narrow ones.
 */
function inert(text: string): string {
  return text.replace(/(^|[;\t\n\r])(?=[\s"]*[=+\-@＝＋－＠])/g, "$1'").replace(/^(?=\t)/, "'");
}

/** Lets the browser save a text as a file. */
export function save(name: string, text: string): void {
  const address = URL.createObjectURL(new Blob([text], { type: 'text/csv;charset=utf-8' }));
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  // After the browser has begun to read it.
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
