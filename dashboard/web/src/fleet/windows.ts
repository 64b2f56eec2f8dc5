// When the start window of a cluster opens (or its freeze ends), in a few classes.

import type { ClusterTable } from '../store/columns';

export const WINDOWS = ['open', 'hour', 'day', 'week', 'later', 'never', 'none'] as const;
export type WindowClass = (typeof WINDOWS)[number];

export const WINDOW_LABEL: Record<WindowClass, string> = {
  open: 'waits for no start window now',
  hour: 'opens within an hour',
  day: 'opens within a day',
  week: 'opens within a week',
  later: 'opens later',
  never: 'fits in no start window',
  none: 'does not wait to start',
};

/** The class of each row. The end of a soak is no window that opens. */
export function windowClasses({ columns: { windowOpens, state, reason }, words }: ClusterTable, now: number): (row: number) => WindowClass {
  const [waiting, never, soaks] = ['NotStarted', 'NeverFits', 'CanarySoaking'].map((word) => words.find(word));
  return (row) => {
    const waits = state[row] === waiting;
    if (waits && reason[row] === never) return 'never';
    return windowClass(reason[row] === soaks ? 0 : (windowOpens[row] as number), now, waits);
  };
}

/** `waits`: whether the cluster has not started yet. One that runs may wait for a window too, after its pre-upgrade action. */
export function windowClass(opens: number, now: number, waits: boolean): WindowClass {
  const left = opens - now;
  if (opens === 0 || left <= 0) return waits ? 'open' : 'none';
  if (left <= 3600) return 'hour';
  if (left <= 86_400) return 'day';
  return left <= 7 * 86_400 ? 'week' : 'later';
}
