// The whole fleet: a cell or a line for each cluster, and above them how far each upgrade is.

import { useMemo } from 'preact/hooks';
import type { FilterColumn, FleetQuery } from '../url/route';
import { refine } from '../url/use-route';
import { useFleet, useStatus, useTick } from '../ui/use-app';
import { Spinner } from '../ui/parts';
import { clusters, count } from '../words/text';
import { coloring } from './coloring';
import { Cells } from './cells';
import { filterRows } from './filter';
import { Legend, MarkLegend } from './legend';
import { marks } from './marks';
import { sortRows } from './sort';
import { FleetTable } from './fleet-table';
import { FleetToolbar } from './toolbar';
import { UpgradeSummaries } from './upgrade-summaries';

/** A cluster has one cell, also where several upgrades select it: what an upgrade counts may be more than what is shown of it. */
function ShownElsewhere({ query }: { query: FleetQuery }) {
  const { fleet } = useStatus();
  const key = query.only.upgrade;
  const upgrade = key === undefined ? undefined : fleet.upgrades.get(key);
  if (key === undefined || !upgrade) return null;
  const elsewhere = upgrade.counts.selected - filterRows(fleet.clusters, { ...query, only: { upgrade: key }, text: '', labels: '' }, 0).rows.length;
  if (elsewhere <= 0) return null;
  const href = `#/upgrade/${key.split('/').map(encodeURIComponent).join('/')}`;
  return (
    <p class="counted">
      {clusters(elsewhere)} of <a href={href}>this upgrade</a> {elsewhere === 1 ? 'is' : 'are'} shown with another upgrade that selects {elsewhere === 1 ? 'it' : 'them'}
    </p>
  );
}

export function FleetPage({ query }: { query: FleetQuery }) {
  const app = useStatus();
  const generation = useFleet();
  // Windows open and usual times pass while nothing else changes.
  useTick(app.clock.tick);
  const now = app.clock.now();
  const minute = Math.floor(now / 30);
  const table = app.fleet.clusters;
  const filtered = useMemo(() => filterRows(table, query, now), [generation, minute, query.text, query.labels, JSON.stringify(query.only)]);
  // The legend also counts what its own filter hides: so that one can go from one value to the next.
  const colors = useMemo(() => {
    const { [query.color]: _own, ...only } = query.only;
    const rows = query.only[query.color] === undefined ? filtered.rows : filterRows(table, { ...query, only }, now).rows;
    return coloring(table, rows, query.color, now);
  }, [filtered, query.color]);
  const sorted = useMemo(() => sortRows(table, filtered.rows, query.sort, query.descending), [filtered, query.sort, query.descending]);
  // Beside other colors than those of states, marks of states would only be noise.
  const marked = useMemo(() => marks(table, query.color === 'state' ? filtered.rows : new Uint32Array(), now), [filtered, query.color === 'state']);
  if (app.fleet.revision === undefined) {
    return (
      <>
        <h1 class="visually-hidden">Fleet</h1>
        {app.connection.is === 'loading' && <Spinner label="Loading the fleet…" />}
      </>
    );
  }
  const toggle = (column: FilterColumn, value: string) => {
    const only = { ...query.only };
    if (only[column] === value) delete only[column];
    else only[column] = value;
    refine({ ...query, only });
  };
  const total = table.length;
  const shown = filtered.rows.length;
  return (
    <>
      <h1 class="visually-hidden">Fleet</h1>
      <UpgradeSummaries />
      <FleetToolbar query={query} error={filtered.error} />
      <div class="legend-row">
        <p class="counted" role="status">
          {shown === total ? `${count(total)} clusters` : `${count(shown)} of ${count(total)} clusters`}
        </p>
        <ShownElsewhere query={query} />
        <Legend entries={colors.legend} mode={query.color} only={query.only[query.color]} onPick={(value) => toggle(query.color, value)} />
        {query.view === 'cells' && <MarkLegend counts={marked.counts} />}
      </div>
      {query.view === 'table' ? (
        <FleetTable rows={sorted} query={query} />
      ) : (
        <Cells rows={sorted} slots={colors.slots} marks={marked.of} />
      )}
      {total === 0 && <p class="empty">The hub has no managed clusters, or none that you may see.</p>}
      {total > 0 && shown === 0 && <p class="empty">No cluster matches the filter.</p>}
    </>
  );
}
