// The same clusters as a table. Only the lines that are in view are in the document.

import type { FleetQuery } from '../url/route';
import { refine } from '../url/use-route';
import { useApp } from '../ui/use-app';
import { ClusterLink, LevelLabel, Reason, StateLabel, Text } from '../ui/parts';
import { type Column, VirtualTable } from '../ui/virtual-table';
import { sentence } from '../words/sentence';
import { TODO } from '../words/text';
import { moment } from '../words/time';

const COLUMNS: Column[] = [
  { id: 'name', label: 'Cluster', sortable: true, width: 170 },
  { id: 'state', label: 'State', sortable: true, width: 140 },
  { id: 'reason', label: 'Reason', sortable: true, width: 170 },
  { id: 'message', label: 'What it waits for' },
  { id: 'since', label: 'Since', sortable: true, width: 150 },
  { id: 'normalUntil', label: 'Normal until', sortable: true, width: 170 },
  { id: 'todo', label: 'What to do' },
  { id: 'version', label: 'Version', sortable: true, width: 90 },
  { id: 'upgrade', label: 'Upgrade', sortable: true, width: 160 },
  { id: 'finding', label: 'Finding', sortable: true, width: 96 },
];

/** `rows` are in the order of the query. */
export function FleetTable({ rows, query }: { rows: Uint32Array; query: FleetQuery }) {
  const app = useApp();
  const table = app.fleet.clusters;
  const now = app.clock.now();
  const cells = (line: number) => {
    const cluster = table.read(rows[line] as number);
    const said = sentence(cluster, now);
    return [
      <ClusterLink name={cluster.name} />,
      <StateLabel state={cluster.state} />,
      <Reason reason={cluster.reason} />,
      <Text of={said.what} />,
      cluster.since ? moment(cluster.since, now) : '',
      cluster.normalUntil ? <span class={said.late ? 'late' : ''}>{moment(cluster.normalUntil, now)}{said.late && ', late'}</span> : '',
      <Text of={said.todo} limit={TODO} />,
      <Text of={cluster.version} limit={63} />,
      <Text of={cluster.upgrade} limit={127} />,
      cluster.finding ? <LevelLabel level={cluster.finding} /> : '',
    ];
  };
  return (
    <VirtualTable
      label="Clusters"
      columns={COLUMNS}
      count={rows.length}
      cells={cells}
      stamp={rows}
      keyOf={(line) => table.name[rows[line] as number] as string}
      sort={query.sort}
      descending={query.descending}
      onSort={(sort) => refine({ ...query, sort, descending: query.sort === sort && !query.descending })}
    />
  );
}
