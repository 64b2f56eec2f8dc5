// What was upgraded: who, when, how long, and how good the forecast was.

import { useMemo, useState } from 'preact/hooks';
import { api } from '../api/client';
import type { HistoryRow } from '../api/types';
import { Choice, Field } from '../fleet/toolbar';
import { naturalCompare } from '../store/natural';
import { Alert, Button, Spinner } from '../ui/parts';
import { useLoaded, useStatus } from '../ui/use-app';
import { format } from '../url/route';
import { count, percent } from '../words/text';
import { duration } from '../words/time';
import { csv, save } from './csv';
import { drift, HistoryTable, historyValue } from './history-table';

export function HistoryPage({ text, upgrade }: { text: string; upgrade: string }) {
  const app = useStatus();
  const history = useLoaded('history', (signal) => api.history(signal));
  const [order, setOrder] = useState({ sort: 'endedAt', descending: true });
  const all = history.value?.rows;
  const rows = useMemo(() => (all ? sorted(matching(all, text, upgrade), order.sort, order.descending) : []), [all, text, upgrade, order]);
  const upgrades = useMemo(() => [...new Set(all?.map((row) => row.upgrade))].sort(naturalCompare), [all]);
  const refine = (change: { text?: string; upgrade?: string }) => {
    window.history.replaceState(null, '', format({ page: 'history', text, upgrade, ...change }));
    dispatchEvent(new HashChangeEvent('hashchange'));
  };
  return (
    <>
      <div class="page-head">
        <h1>History</h1>
        <Button small onClick={history.reload}>Read again</Button>
        <Button small disabled={rows.length === 0} onClick={() => save('drydock-history.csv', csv(rows))}>
          Export as CSV
        </Button>
      </div>
      <form class="toolbar" role="search" aria-label="History" onSubmit={(event) => event.preventDefault()}>
        <Field label="Text">
          <input type="search" value={text} placeholder="cluster, version, reason…" maxLength={200} onInput={(event) => refine({ text: event.currentTarget.value })} />
        </Field>
        <Choice label="Upgrade" value={upgrade} options={[['', 'all'], ...upgrades.map((key) => [key, key.slice(0, 127)] as const)]} onChange={(value) => refine({ upgrade: value })} />
      </form>
      {history.error && <Alert kind="danger" title="The history cannot be read.">{history.error}</Alert>}
      {!all && history.loading && <Spinner label="Reading the records…" />}
      {all && (
        <>
          <p class="counted" role="status">
            {summary(rows)}
            {history.value?.truncated && '; older records are not shown'}
          </p>
          <HistoryTable
            rows={rows}
            now={app.clock.now()}
            sort={order.sort}
            descending={order.descending}
            onSort={(sort) => setOrder((last) => ({ sort, descending: last.sort === sort ? !last.descending : false }))}
          />
        </>
      )}
    </>
  );
}

function summary(rows: HistoryRow[]): string {
  if (rows.length === 0) return 'No record of an upgrade.';
  const failed = rows.filter((row) => row.outcome === 'Failed').length;
  const took = rows.map((row) => row.actualSeconds).filter((value) => value !== undefined).sort((a, b) => a - b);
  const off = rows.map(drift).filter((value) => value !== undefined).map(Math.abs).sort((a, b) => a - b);
  const parts = [`${count(rows.length)} ${rows.length === 1 ? 'attempt' : 'attempts'}`, `${percent(failed / rows.length)} failed`];
  if (took.length > 0) parts.push(`half took at most ${duration(took[Math.floor((took.length - 1) / 2)] as number)}`);
  if (off.length > 0) parts.push(`half were within ${duration(off[Math.floor((off.length - 1) / 2)] as number)} of what was expected`);
  const rollouts = new Map(rows.filter((row) => row.forecast?.withinBand !== undefined).map((row) => [`${row.upgrade} ${row.target} ${row.forecast?.ended}`, row]));
  if (rollouts.size > 0) {
    const within = [...rollouts.values()].filter((row) => row.forecast?.withinBand).length;
    parts.push(`${within} of ${rollouts.size} ${rollouts.size === 1 ? 'rollout' : 'rollouts'} ended within the band of the forecast`);
  }
  return parts.join(', ');
}

function matching(rows: HistoryRow[], text: string, upgrade: string): HistoryRow[] {
  const terms = text.toLowerCase().split(/\s+/).filter(Boolean);
  return rows.filter((row) => {
    if (upgrade && row.upgrade !== upgrade) return false;
    const words = [row.cluster, row.upgrade, row.from, row.target, row.outcome, row.reason, row.message, row.by].join(' ').toLowerCase();
    return terms.every((term) => words.includes(term));
  });
}

function sorted(rows: HistoryRow[], column: string, descending: boolean): HistoryRow[] {
  const sign = descending ? -1 : 1;
  const value = historyValue(column);
  return rows.slice().sort((a, b) => sign * compare(value(a), value(b)));
}

function compare(a: string | number | undefined, b: string | number | undefined): number {
  if (typeof a === 'string' && typeof b === 'string') return naturalCompare(a, b);
  return Number(a ?? -Infinity) - Number(b ?? -Infinity) || 0;
}
