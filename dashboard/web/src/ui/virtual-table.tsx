// A table of thousands of lines, of which the document has those in view. All lines are of one height.

import { Component, type ComponentChildren } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

export interface Column {
  id: string;
  label: string;
  sortable?: boolean;
  /** In pixels; without one it has what room is left. */
  width?: number | undefined;
  /** How narrow it may become then. */
  least?: number;
  /** Numbers, to the right. */
  number?: boolean;
}

/** As in the style sheet. */
const LINE = 36;
const SPARE = 5;
const WIDE = 230;

export function VirtualTable(props: {
  label: string;
  columns: Column[];
  count: number;
  cells: (line: number) => ComponentChildren[];
  keyOf: (line: number) => string;
  /** Is another one when the cells are others: while it is the same, scrolling renders new lines alone. */
  stamp: unknown;
  sort?: string | undefined;
  descending?: boolean | undefined;
  onSort?: ((column: string) => void) | undefined;
}) {
  const area = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 600 });
  useLayoutEffect(() => {
    const element = area.current as HTMLElement;
    const measure = () => setView({ top: element.scrollTop, height: element.clientHeight });
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    element.addEventListener('scroll', measure, { passive: true });
    measure();
    return () => {
      observer.disconnect();
      element.removeEventListener('scroll', measure);
    };
  }, []);
  const top = Math.min(view.top, Math.max(0, props.count * LINE - view.height));
  const first = Math.max(0, Math.floor(top / LINE) - SPARE);
  const last = Math.min(props.count, Math.ceil((top + view.height) / LINE) + SPARE);
  const least = props.columns.reduce((sum, column) => sum + (column.width ?? column.least ?? WIDE), 0);
  const lines = [];
  for (let line = first; line < last; line++) lines.push(line);
  return (
    <div class="table-area" ref={area} tabIndex={0} role="region" aria-label={props.label}>
      <table class="pf-v6-c-table pf-m-compact virtual" aria-label={props.label} aria-rowcount={props.count + 1} style={{ minWidth: `${least}px` }}>
        <caption class="visually-hidden">{props.label}</caption>
        <thead class="pf-v6-c-table__thead">
          <tr class="pf-v6-c-table__tr" aria-rowindex={1}>
            {props.columns.map((column) => (
              <Head key={column.id} column={column} sort={props.sort} descending={props.descending} onSort={props.onSort} />
            ))}
          </tr>
        </thead>
        <tbody class="pf-v6-c-table__tbody">
          <Spacer height={first * LINE} columns={props.columns.length} />
          {lines.map((line) => (
            <Line key={props.keyOf(line)} line={line} columns={props.columns} cells={props.cells} stamp={props.stamp} />
          ))}
          <Spacer height={(props.count - last) * LINE} columns={props.columns.length} />
        </tbody>
      </table>
    </div>
  );
}

interface LineProps {
  line: number;
  columns: Column[];
  cells: (line: number) => ComponentChildren[];
  stamp: unknown;
}

class Line extends Component<LineProps> {
  override shouldComponentUpdate(next: LineProps): boolean {
    return next.stamp !== this.props.stamp || next.line !== this.props.line || next.columns !== this.props.columns;
  }

  override render({ line, columns, cells }: LineProps) {
    return (
      <tr class="pf-v6-c-table__tr line" aria-rowindex={line + 2}>
        {cells(line).map((cell, i) => (
          <td key={columns[i]?.id} class={`pf-v6-c-table__td ${columns[i]?.number ? 'number' : ''}`}>
            <div class="cell-text">{cell}</div>
          </td>
        ))}
      </tr>
    );
  }
}

function Head(props: { column: Column; sort: string | undefined; descending: boolean | undefined; onSort: ((column: string) => void) | undefined }) {
  const { column, onSort } = props;
  const sorted = props.sort === column.id;
  const order = props.descending ? 'descending' : 'ascending';
  return (
    <th scope="col" class={`pf-v6-c-table__th ${column.number ? 'number' : ''}`} aria-sort={column.sortable && sorted ? order : undefined} style={column.width ? { width: `${column.width}px` } : {}}>
      {column.sortable && onSort ? (
        <button type="button" class="sort" onClick={() => onSort(column.id)}>
          {column.label}
          <span aria-hidden="true">{sorted ? (props.descending ? ' ↓' : ' ↑') : ''}</span>
        </button>
      ) : (
        column.label
      )}
    </th>
  );
}

/** The height of the lines that are not there. */
function Spacer({ height, columns }: { height: number; columns: number }) {
  const row = useRef<HTMLTableRowElement>(null);
  useLayoutEffect(() => {
    if (row.current) row.current.style.height = `${height}px`;
  }, [height]);
  if (height <= 0) return null;
  return (
    <tr class="spacer" ref={row} aria-hidden="true">
      <td colSpan={columns} />
    </tr>
  );
}
