// When the start window of a cluster opens (or its freeze ends), in a few classes.

export const WINDOWS = ['open', 'hour', 'day', 'week', 'later'] as const;
export type WindowClass = (typeof WINDOWS)[number];

export const WINDOW_LABEL: Record<WindowClass, string> = {
  open: 'may start now',
  hour: 'opens within an hour',
  day: 'opens within a day',
  week: 'opens within a week',
  later: 'opens later',
};

export function windowClass(opens: number, now: number): WindowClass {
  const left = opens - now;
  if (opens === 0 || left <= 0) return 'open';
  if (left <= 3600) return 'hour';
  if (left <= 86_400) return 'day';
  return left <= 7 * 86_400 ? 'week' : 'later';
}
