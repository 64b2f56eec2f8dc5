// Requests to the server of this page, and what their failures mean.

import { token } from './token';
import type { ClusterDetail, Forecast, HistoryRow, Session, Snapshot, UpgradeDetail } from './types';

export class ApiError extends Error {
  constructor(
    /** The HTTP status; 0 if there was no answer. */
    readonly status: number,
    message: string,
    /** What the page does about it, where it can. */
    readonly reason?: string,
  ) {
    super(message);
  }
}

/** What listens for an expired token: it concerns the whole page, whoever asked. `signIn` says that a token of a user of the hub is asked for. */
let onExpired: (signIn: boolean) => void = () => {};

export function whenTokenExpires(listener: (signIn: boolean) => void): void {
  onExpired = listener;
}

/** Sends a request; resolves with the response if its status is 200 to 299. */
export async function request(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  const bearer = token();
  if (bearer !== null) headers.set('Authorization', `Bearer ${bearer}`);
  let response: Response;
  try {
    response = await fetch(`api/${path}`, { ...init, headers, cache: 'no-store', redirect: 'manual' });
  } catch (cause) {
    if (init.signal?.aborted) throw cause;
    throw new ApiError(0, 'the server does not answer');
  }
  if (response.ok) return response;
  // A proxy that wants the user to sign in again sends them elsewhere.
  const status = response.type === 'opaqueredirect' ? 401 : response.status;
  if (status === 401) onExpired(response.headers.get('WWW-Authenticate')?.includes('realm="hub"') ?? false);
  const { error, reason } = await refusal(response);
  throw new ApiError(status, error ?? (status === 401 ? 'the token has expired' : `the server answers ${status}`), reason);
}

async function refusal(response: Response): Promise<{ error?: string; reason?: string }> {
  try {
    const body: unknown = await response.json();
    if (body === null || typeof body !== 'object' || !('error' in body)) return {};
    return { error: String(body.error).slice(0, 2000), ...('reason' in body ? { reason: String(body.reason) } : {}) };
  } catch {
    // Not JSON: a proxy's own page. Its status says enough.
    return {};
  }
}

async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  const response = await request(path, signal ? { signal } : {});
  return (await response.json()) as T;
}

async function post<T>(path: string, body: unknown, signal?: AbortSignal): Promise<T> {
  const response = await request(path, {
    method: 'POST',
    ...(signal ? { signal } : {}),
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  });
  return (await response.json()) as T;
}

/** `NAMESPACE/NAME` as a part of a path. */
function path(key: string): string {
  return key.split('/').map(encodeURIComponent).join('/');
}

const DETAIL_LISTS = ['conditions', 'canaries', 'inFlight', 'failures', 'waits', 'findings', 'acceptances', 'halts', 'events', 'unread'];
const FORECAST_LISTS = ['stops', 'waitsFor', 'blocked', 'shared'];

/** Lists that an answer leaves out because they are empty. */
function withLists<T extends object>(answer: T, lists: string[]): T {
  return { ...Object.fromEntries(lists.map((list) => [list, []])), ...answer };
}

export interface Done {
  done: string;
  /** The edition of an upgrade that was edited: what this user has seen of it. */
  edition?: string;
}

/** What was shown of an upgrade: one that has been created anew under its name, or edited since, starts nothing. */
export interface Meant {
  uid: string | undefined;
  generation: number | undefined;
}

/** A text that is written to the hub. */
export interface Writing {
  yaml: string;
  /** The upgrade that was opened to be edited; a text about another one does not edit it. */
  opened: { upgrade: string; edition: string } | undefined;
  takeOver: boolean;
}

/** A field that becomes another; what is not set is undefined. */
export interface Change {
  field: string;
  before?: string;
  after?: string;
}

/** What writing a text does. */
export interface Preview {
  key: string;
  /** It edits what was opened. */
  edits: boolean;
  /** All that is there now, in short; empty if nothing is. */
  seen: string;
  /** The version, the image and the channel that are asked for, with a space between; empty if none. */
  target: string;
  /** The same, as it is now; none if the upgrade is new. */
  targetBefore?: string;
  /** It is paused, and stays so: the text does not say whether it is. */
  staysPaused: boolean;
  /** Why nothing starts by it, if its spec is invalid. */
  invalid?: string;
  allOperators: boolean;
  changes: Change[];
  /** How many changes there are beside those. */
  more: number;
}

export const api = {
  session: () => get<Session>('session'),
  snapshot: (signal?: AbortSignal) => get<Snapshot>('snapshot', signal),
  upgrade: async (key: string, signal?: AbortSignal) => withLists(await get<UpgradeDetail>(`upgrades/${path(key)}`, signal), DETAIL_LISTS),
  forecast: async (key: string, signal?: AbortSignal) => withLists(await get<Forecast>(`upgrades/${path(key)}/forecast`, signal), FORECAST_LISTS),
  // `uid`: that of the upgrade that was shown. One that has been created anew under its name is not meant.
  pause: (key: string, uid?: string) => post<Done>(`upgrades/${path(key)}/pause`, { uid }),
  resume: (key: string, meant: Meant) => post<Done>(`upgrades/${path(key)}/resume`, meant),
  // `failed`: those that had failed. Others are not retried.
  retry: (key: string, what: Meant & ({ failed: string } | { cluster: string })) => post<Done>(`upgrades/${path(key)}/retry`, what),
  // `reporters`: those of the finding that was shown. For other clusters, or what has become worse, nothing is accepted.
  accept: (key: string, body: { uid?: string; finding: string; target: string; reporters: string; reason: string; until?: number }) =>
    post<Done>(`upgrades/${path(key)}/accept`, body),
  // `opened`: the upgrade that is edited. Of another one stays what others manage, as where a text is applied.
  plan: async (body: { yaml: string; compare?: string; opened?: string }) => {
    const { plans } = await post<{ plans: Forecast[] }>('plan', body);
    return plans.map((plan) => withLists(plan, FORECAST_LISTS));
  },
  // Nothing is written: the server says what would be.
  preview: (body: Writing, signal: AbortSignal) => post<Preview>('preview', body, signal),
  // `seen`: what the preview has found. Anything else is not written over.
  apply: (body: Writing & { seen: string }) => post<Done>('apply', body),
  history: (signal?: AbortSignal) => get<{ rows: HistoryRow[]; truncated?: boolean }>('history', signal),
  cluster: async (name: string, signal?: AbortSignal) => {
    const answer = await get<ClusterDetail>(`clusters/${encodeURIComponent(name)}`, signal);
    return { ...withLists(answer, ['upgrades', 'findings', 'history']), labels: answer.labels ?? {} };
  },
};
