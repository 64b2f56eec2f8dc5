import type { HistoryRow } from '../api/types';
import { ClusterLink, Label, Text } from '../ui/parts';
import { Table } from '../ui/table';
import { type Column, VirtualTable } from '../ui/virtual-table';
import { duration, moment } from '../words/time';

export const HISTORY_COLUMNS: Column[] = [
  { id: 'endedAt', label: 'Ended', sortable: true, width: 136 },
  { id: 'cluster', label: 'Cluster', sortable: true, width: 190 },
  { id: 'upgrade', label: 'Upgrade', sortable: true, width: 160 },
  { id: 'from', label: 'From', sortable: true, width: 90 },
  { id: 'target', label: 'To', sortable: true, width: 90 },
  { id: 'outcome', label: 'Outcome', sortable: true, width: 110 },
  { id: 'reason', label: 'Reason', sortable: true, width: 190 },
  { id: 'actualSeconds', label: 'Took', sortable: true, width: 80, number: true },
  { id: 'expectedSeconds', label: 'Expected', sortable: true, width: 90, number: true },
  { id: 'drift', label: 'Drift', sortable: true, width: 90, number: true },
  { id: 'attempt', label: 'Attempt', sortable: true, width: 80, number: true },
  { id: 'by', label: 'Started by', sortable: true },
];

/** How much longer it took than was expected; negative if it was faster. */
export function drift(row: HistoryRow): number | undefined {
  if (row.actualSeconds === undefined || row.expectedSeconds === undefined) return undefined;
  return row.actualSeconds - row.expectedSeconds;
}

function signed(seconds: number | undefined): string {
  if (seconds === undefined) return '';
  return `${seconds < 0 ? '−' : '+'}${duration(Math.abs(seconds))}`;
}

function cells(row: HistoryRow, now: number) {
  return [
    row.endedAt ? moment(row.endedAt, now) : 'not over',
    <ClusterLink name={row.cluster} />,
    <Text of={row.upgrade} limit={127} />,
    <Text of={row.from ?? ''} limit={63} />,
    <Text of={row.target} limit={63} />,
    <Outcome outcome={row.outcome} />,
    <Text of={row.reason} limit={63} />,
    row.actualSeconds === undefined ? '' : duration(row.actualSeconds),
    row.expectedSeconds === undefined ? '' : duration(row.expectedSeconds),
    signed(drift(row)),
    <Text of={String(row.attempt)} limit={40} />,
    <Text of={row.by ?? ''} limit={63} />,
  ];
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
  if (props.short) {
    const head = HISTORY_COLUMNS.map((column) => column.label);
    return <Table label="History" head={head} rows={rows.slice(0, 50).map((row) => ({ key: key(row), cells: cells(row, now) }))} more={rows.length - 50} />;
  }
  return (
    <VirtualTable
      label="History"
      columns={HISTORY_COLUMNS}
      count={rows.length}
      cells={(line) => cells(rows[line] as HistoryRow, now)}
      keyOf={(line) => `${line} ${key(rows[line] as HistoryRow)}`}
      {...(props.sort === undefined ? {} : { sort: props.sort })}
      {...(props.onSort ? { onSort: props.onSort } : {})}
      descending={props.descending ?? false}
    />
  );
}
