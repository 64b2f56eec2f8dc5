// What is shown and how; all of it is in the address.

import type { JSX } from 'preact';
import { FILTER_COLUMNS, type FilterColumn, type FleetQuery } from '../url/route';
import { refine } from '../url/use-route';
import { Button, Text } from '../ui/parts';
import { own } from '../words/own';
import { printable } from '../words/text';
import { COLOR_MODES, type ColorMode } from './color-modes';
import { WINDOW_LABEL } from './windows';

const MODE_LABEL: Record<ColorMode, string> = {
  state: 'State',
  version: 'Version',
  window: 'Start window',
  finding: 'Finding',
  upgrade: 'Upgrade',
};

/** The table is ordered by its heads. */
const ORDERS = [
  ['name', 'Name'],
  ['state', 'State'],
  ['version', 'Version'],
  ['reason', 'Reason'],
  ['upgrade', 'Upgrade'],
  ['finding', 'Finding'],
  ['since', 'Since'],
  ['normalUntil', 'Normal until'],
] as const;

export function FleetToolbar({ query, error }: { query: FleetQuery; error: string | undefined }) {
  const set = (change: Partial<FleetQuery>) => refine({ ...query, ...change });
  return (
    <form class="toolbar" role="search" aria-label="Clusters" onSubmit={(event) => event.preventDefault()}>
      <Field label="Text">
        <input type="search" value={query.text} placeholder="name, reason, message…" maxLength={200} onInput={(event) => set({ text: event.currentTarget.value })} />
      </Field>
      <Field label="Labels">
        <input
          type="search"
          value={query.labels}
          placeholder="region=eu,tier!=dev"
          maxLength={500}
          spellcheck={false}
          aria-invalid={error !== undefined}
          aria-describedby={error === undefined ? undefined : 'labels-error'}
          onInput={(event) => set({ labels: event.currentTarget.value })}
        />
      </Field>
      <Choice label="Color by" value={query.color} options={COLOR_MODES.map((mode) => [mode, MODE_LABEL[mode]])} onChange={(value) => set({ color: value as ColorMode })} />
      {query.view === 'cells' && <Choice label="Order by" value={query.sort} options={ORDERS} onChange={(sort) => set({ sort, descending: false })} />}
      <div class="views" role="group" aria-label="Show as">
        <ViewButton label="Cells" pressed={query.view === 'cells'} onClick={() => set({ view: 'cells' })} />
        <ViewButton label="Table" pressed={query.view === 'table'} onClick={() => set({ view: 'table' })} />
      </div>
      <Only query={query} />
      {error !== undefined && (
        <p class="field-error" id="labels-error" role="alert">
          {error}
        </p>
      )}
    </form>
  );
}

function ViewButton({ label, pressed, onClick }: { label: string; pressed: boolean; onClick: () => void }) {
  return (
    <button type="button" aria-pressed={pressed} onClick={onClick}>
      {label}
    </button>
  );
}

/** The values that are asked for, each of which can be taken off. */
function Only({ query }: { query: FleetQuery }) {
  const asked = FILTER_COLUMNS.filter((column) => query.only[column] !== undefined);
  if (asked.length === 0 && !query.text && !query.labels) return null;
  const without = (column: FilterColumn) => {
    const only = { ...query.only };
    delete only[column];
    refine({ ...query, only });
  };
  return (
    <div class="asked">
      {asked.map((column) => (
        <button key={column} type="button" class="asked-value" onClick={() => without(column)}>
          {own(MODE_LABEL, column) ?? 'Reason'}: <Text of={wordOf(column, query.only[column] ?? '')} limit={63} />
          <span aria-hidden="true"> ×</span>
          <span class="visually-hidden"> (take this filter off)</span>
        </button>
      ))}
      <Button kind="link" small onClick={() => refine({ ...query, only: {}, text: '', labels: '' })}>
        Show all
      </Button>
    </div>
  );
}

export function wordOf(column: FilterColumn, value: string): string {
  if (column === 'window') return own(WINDOW_LABEL, value) ?? value;
  return value === '' ? 'none' : value;
}

export function Field({ label, children }: { label: string; children: JSX.Element }) {
  return (
    <label class="field">
      <span>{label}</span>
      <span class="pf-v6-c-form-control">{children}</span>
    </label>
  );
}

export function Choice(props: {
  label: string;
  value: string;
  options: readonly (readonly [string, string])[];
  onChange: (value: string) => void;
}) {
  const known = props.options.some(([value]) => value === props.value);
  // An address may ask for what is not offered.
  const options = known ? props.options : [...props.options, [props.value, printable(props.value, 127)] as const];
  return (
    <label class="field">
      <span>{props.label}</span>
      <span class="pf-v6-c-form-control choice">
        <select value={props.value} onChange={(event) => props.onChange(event.currentTarget.value)}>
          {options.map(([value, label]) => (
            <option key={value} value={value} selected={value === props.value}>
              {label}
            </option>
          ))}
        </select>
      </span>
    </label>
  );
}
