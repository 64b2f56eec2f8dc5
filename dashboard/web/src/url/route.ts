// What is shown is in the fragment of the address, so that a link shows the same: #/fleet?color=version&text=dev

import { COLOR_MODES, type ColorMode } from '../fleet/color-modes';

export interface FleetQuery {
  view: 'cells' | 'table';
  color: ColorMode;
  text: string;
  labels: string;
  /** Values that are asked for, a column each. */
  only: Partial<Record<FilterColumn, string>>;
  sort: string;
  descending: boolean;
}

export const FILTER_COLUMNS = ['state', 'reason', 'version', 'window', 'finding', 'upgrade'] as const;
export type FilterColumn = (typeof FILTER_COLUMNS)[number];

export type Route =
  | { page: 'fleet'; query: FleetQuery }
  | { page: 'upgrade'; key: string }
  | { page: 'cluster'; name: string }
  | { page: 'history'; text: string; upgrade: string }
  | { page: 'plan'; upgrade: string }
  | { page: 'unknown' };

export const ALL_CLUSTERS: FleetQuery = {
  view: 'cells',
  color: 'state',
  text: '',
  labels: '',
  only: {},
  sort: 'name',
  descending: false,
};

export function parse(fragment: string): Route {
  const [path = '', search = ''] = split(fragment.replace(/^#/, ''));
  const query = new URLSearchParams(search);
  const [page, ...rest] = path.replace(/^\//, '').split('/').map(decode);
  switch (page) {
    case 'upgrade':
      if (rest.length === 2 && rest.every(isName)) return { page, key: rest.join('/') };
      break;
    case 'cluster':
      if (rest[0] !== undefined && !isDots(rest[0])) return { page, name: rest[0] };
      break;
    case 'history':
      return { page, text: query.get('text') ?? '', upgrade: query.get('upgrade') ?? '' };
    case 'plan':
      return { page, upgrade: keyOf(query.get('upgrade') ?? '') };
  }
  return page === 'fleet' || page === '' || !/^#?\//.test(fragment) ? { page: 'fleet', query: fleetQuery(query) } : { page: 'unknown' };
}

/** Nothing, or what leads a request elsewhere. */
function isDots(text: string): boolean {
  return /^\.{0,2}$/.test(text);
}

function isName(text: string): boolean {
  return !isDots(text) && !text.includes('/');
}

/** The key of an upgrade; empty if it is none. */
function keyOf(text: string): string {
  const parts = text.split('/');
  return parts.length === 2 && parts.every(isName) ? text : '';
}

export function format(route: Route): string {
  switch (route.page) {
    case 'fleet':
      return `#/fleet${search(fleetValues(route.query))}`;
    case 'upgrade':
      return `#/upgrade/${route.key.split('/').map(encodeURIComponent).join('/')}`;
    case 'cluster':
      return `#/cluster/${encodeURIComponent(route.name)}`;
    case 'history':
      return `#/history${search({ text: route.text || undefined, upgrade: route.upgrade || undefined })}`;
    case 'plan':
      return `#/plan${search({ upgrade: route.upgrade || undefined })}`;
    case 'unknown':
      return '#/fleet';
  }
}

function fleetQuery(query: URLSearchParams): FleetQuery {
  const only: FleetQuery['only'] = {};
  for (const column of FILTER_COLUMNS) {
    const value = query.get(column);
    if (value !== null) only[column] = value;
  }
  const color = query.get('color') as ColorMode;
  return {
    view: query.get('view') === 'table' ? 'table' : 'cells',
    color: COLOR_MODES.includes(color) ? color : 'state',
    text: query.get('text') ?? '',
    labels: query.get('labels') ?? '',
    only,
    sort: query.get('sort') ?? 'name',
    descending: query.get('order') === 'descending',
  };
}

/** Only what differs from the default, so that addresses stay short. An empty value of a column stays: it asks for "none". */
function fleetValues(query: FleetQuery): Record<string, string | undefined> {
  return {
    view: query.view === 'table' ? 'table' : undefined,
    color: query.color === 'state' ? undefined : query.color,
    text: query.text || undefined,
    labels: query.labels || undefined,
    ...query.only,
    sort: query.sort === 'name' ? undefined : query.sort,
    order: query.descending ? 'descending' : undefined,
  };
}

function search(values: Record<string, string | undefined>): string {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(values)) if (value !== undefined) query.set(key, value);
  const text = query.toString();
  return text === '' ? '' : `?${text}`;
}

function split(text: string): [string, string] {
  const at = text.indexOf('?');
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
