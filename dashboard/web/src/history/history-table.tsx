import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import type { HistoryRow } from '../api/types';
import { ClusterLink, Label, Reason, Text, UpgradeLink } from '../ui/parts';
import { Table } from '../ui/table';
import { type Column, VirtualTable } from '../ui/virtual-table';
import { duration, moment } from '../words/time';

interface HistoryColumn extends Column {
  cell: (row: HistoryRow, now: number) => ComponentChildren;
  /** What it is ordered by. */
  value: (row: HistoryRow) => string | number | undefined;
  /** Columns without a value in any row are left out. */
  optional?: boolean;
}

const text = (id: keyof HistoryRow, label: string, width: number, limit = 63, optional = false): HistoryColumn => ({
  id,
  label,
  width,
  optional,
  sortable: true,
  cell: (row) => <Text of={String(row[id] ?? '')} limit={limit} />,
  value: (row) => row[id] as string | number | undefined,
});

function reached(row: HistoryRow): string {
  return row.to || row.target;
}

const COLUMNS: HistoryColumn[] = [
  {
    id: 'endedAt',
    label: 'Ended',
    width: 140,
    sortable: true,
    cell: (row, now) => (row.endedAt ? moment(row.endedAt, now) : 'not over'),
    value: (row) => row.endedAt ?? Number.MAX_SAFE_INTEGER,
  },
  { ...text('cluster', 'Cluster', 160), cell: (row) => <ClusterLink name={row.cluster} /> },
  { ...text('upgrade', 'Upgrade', 140, 127), cell: (row) => (row.deleted ? <><Text of={row.upgrade} limit={127} /> (deleted)</> : <UpgradeLink of={row.upgrade} />) },
  text('from', 'From', 84),
  // Of a drift, what the cluster shows; its outcome is Drifted.
  { ...text('target', 'To', 84), cell: (row) => <Text of={reached(row)} limit={63} />, value: reached },
  { ...text('outcome', 'Outcome', 104), cell: (row) => <Outcome outcome={row.outcome} /> },
  { ...text('reason', 'Reason', 150), cell: (row) => <Reason reason={row.reason ?? ''} /> },
  {
    ...text('actualSeconds', 'Took', 80, 40, true),
    number: true,
    cell: (row) => (row.actualSeconds === undefined ? '' : duration(row.actualSeconds)),
  },
  { ...text('attempt', 'Attempt', 80, 40), number: true },
  text('by', 'Started by', 130, 63, true),
  { ...text('message', 'Message', 0, 300, true), width: undefined, least: 130 },
];

/** The columns for which there is something in these rows. */
function columnsOf(rows: HistoryRow[]): HistoryColumn[] {
  return COLUMNS.filter((column) => !column.optional || rows.some((row) => column.value(row) !== undefined));
}

export function historyValue(column: string): (row: HistoryRow) => string | number | undefined {
  return COLUMNS.find(({ id }) => id === column)?.value ?? (() => undefined);
}

function Outcome({ outcome }: { outcome: string }) {
  const color = outcome === 'Complete' ? 'green' : outcome === 'Failed' ? 'red' : 'grey';
  return (
    <Label color={color}>
      <Text of={outcome} limit={40} />
    </Label>
  );
}

const key = (row: HistoryRow) => `${row.upgrade} ${row.cluster} ${row.attempt} ${row.startedAt ?? ''}`;

/** All attempts; `short`: a plain table of the first ones. */
export function HistoryTable(props: {
  rows: HistoryRow[];
  now: number;
  short?: boolean;
  sort?: string;
  descending?: boolean;
  onSort?: (column: string) => void;
}) {
  const { rows, now } = props;
  const columns = useMemo(() => columnsOf(rows), [rows]);
  const cells = (row: HistoryRow) => columns.map((column) => column.cell(row, now));
  if (props.short) {
    return <Table label="History" head={columns.map(({ label }) => label)} rows={rows.slice(0, 50).map((row) => ({ key: key(row), cells: cells(row) }))} more={rows.length - 50} />;
  }
  return (
    <VirtualTable
      label="History"
      columns={columns}
      count={rows.length}
      cells={(line) => cells(rows[line] as HistoryRow)}
      keyOf={(line) => `${line} ${key(rows[line] as HistoryRow)}`}
      stamp={rows}
      sort={props.sort}
      descending={props.descending}
      onSort={props.onSort}
    />
  );
}
