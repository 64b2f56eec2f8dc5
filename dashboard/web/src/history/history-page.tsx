// What was upgraded: who, when, how long, and how good the forecast was.

import { useMemo, useState } from 'preact/hooks';
import { api } from '../api/client';
import type { HistoryRow } from '../api/types';
import { Choice, Field } from '../fleet/toolbar';
import { naturalCompare } from '../store/natural';
import { NotCurrent } from '../ui/not-current';
import { Alert, Button, Spinner, Text } from '../ui/parts';
import { useFleet, useLoaded, useStatus, useTick } from '../ui/use-app';
import { format } from '../url/route';
import { clusters, count, percent } from '../words/text';
import { duration, momentAndDistance } from '../words/time';
import { csv, save } from './csv';
import { HistoryTable, historyValue } from './history-table';
import { Forecasts, rollouts } from './rollouts';

/** The least time between two readings, in milliseconds: all records are read each time. */
const READ_AGAIN = 15_000;

export function HistoryPage({ text, upgrade }: { text: string; upgrade: string }) {
  const app = useStatus();
  useFleet();
  useTick(app.clock.tick);
  // A record is written when an attempt ends, and the upgrade counts it.
  const renew = JSON.stringify([...app.fleet.upgrades.values()].map(({ uid, counts }) => [uid, counts.complete, counts.failed]));
  const history = useLoaded('history', (signal) => api.history(signal), renew, READ_AGAIN);
  const [order, setOrder] = useState({ sort: 'endedAt', descending: true });
  const all = history.value?.rows;
  const rows = useMemo(() => (all ? sorted(matching(all, text, upgrade), order.sort, order.descending) : []), [all, text, upgrade, order]);
  const ended = useMemo(() => rollouts(rows), [rows]);
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
      {history.error !== undefined && (all ? <NotCurrent loaded={history} /> : <Alert kind="danger" title="The history cannot be read."><Text of={history.error} limit={1000} /></Alert>)}
      {!all && history.loading && <Spinner label="Reading the records…" />}
      {all && (
        <>
          <p class="counted">
            <span role="status">
              {summary(rows)}
              {history.value?.truncated && '; older records are not shown'}
            </span>
            {history.at !== undefined && `; read ${momentAndDistance(history.at, app.clock.now())}`}
          </p>
          <Forecasts of={ended} now={app.clock.now()} />
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
  if (rows.length === 0) return 'No record of an upgrade';
  // A drift is what became of a cluster after its attempt.
  const attempts = rows.filter((row) => row.outcome !== 'Drifted');
  const parts = [`${count(attempts.length)} ${attempts.length === 1 ? 'attempt' : 'attempts'}`];
  if (attempts.length > 0) parts.push(`${percent(attempts.filter((row) => row.outcome === 'Failed').length / attempts.length)} failed`);
  // What a deletion, a new goal or the like has cut off says nothing of how long an upgrade takes.
  const took = attempts.filter((row) => row.outcome === 'Complete').map((row) => row.actualSeconds).filter((value) => value !== undefined).sort((a, b) => a - b);
  if (took.length > 0) parts.push(`half of those complete took at most ${duration(took[Math.floor((took.length - 1) / 2)] as number)}`);
  const drifted = rows.length - attempts.length;
  if (drifted > 0) parts.push(`${clusters(drifted)} drifted to another version afterwards`);
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
