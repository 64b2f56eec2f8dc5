import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import type { HistoryRow } from '../api/types';
import { ClusterLink, Label, Text } from '../ui/parts';
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

const seconds = (id: string, label: string, value: (row: HistoryRow) => number | undefined, show: (seconds: number) => string): HistoryColumn => ({
  id,
  label,
  width: 100,
  optional: true,
  sortable: true,
  number: true,
  cell: (row) => {
    const found = value(row);
    return found === undefined ? '' : show(found);
  },
  value,
});

const COLUMNS: HistoryColumn[] = [
  {
    id: 'endedAt',
    label: 'Ended',
    width: 150,
    sortable: true,
    cell: (row, now) => (row.endedAt ? moment(row.endedAt, now) : 'not over'),
    value: (row) => row.endedAt ?? Number.MAX_SAFE_INTEGER,
  },
  { ...text('cluster', 'Cluster', 170), cell: (row) => <ClusterLink name={row.cluster} /> },
  text('upgrade', 'Upgrade', 160, 127),
  text('from', 'From', 90),
  text('target', 'To', 90),
  { ...text('outcome', 'Outcome', 110), cell: (row) => <Outcome outcome={row.outcome} /> },
  text('reason', 'Reason', 180),
  seconds('actualSeconds', 'Took', (row) => row.actualSeconds, duration),
  seconds('expectedSeconds', 'Expected', (row) => row.expectedSeconds, duration),
  seconds('drift', 'Drift', drift, signed),
  {
    ...seconds('forecast', 'Rollout against forecast', (row) => row.forecast?.errorSeconds, signed),
    width: 200,
    cell: ({ forecast }) =>
      forecast?.errorSeconds === undefined ? '' : `${signed(forecast.errorSeconds)}${forecast.withinBand === undefined ? '' : forecast.withinBand ? ', in the band' : ', outside the band'}`,
  },
  { ...text('attempt', 'Attempt', 90, 40), number: true },
  text('by', 'Started by', 150, 63, true),
  { ...text('message', 'Message', 0, 300, true), width: undefined },
];

/** The columns for which there is something in these rows. */
function columnsOf(rows: HistoryRow[]): HistoryColumn[] {
  return COLUMNS.filter((column) => !column.optional || rows.some((row) => column.value(row) !== undefined));
}

export function historyValue(column: string): (row: HistoryRow) => string | number | undefined {
  return COLUMNS.find(({ id }) => id === column)?.value ?? (() => undefined);
}

/** How much longer it took than was expected; negative if it was faster. */
export function drift(row: HistoryRow): number | undefined {
  if (row.actualSeconds === undefined || row.expectedSeconds === undefined) return undefined;
  return row.actualSeconds - row.expectedSeconds;
}

function signed(value: number): string {
  return `${value < 0 ? '−' : '+'}${duration(Math.abs(value))}`;
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
