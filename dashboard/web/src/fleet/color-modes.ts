export const COLOR_MODES = ['state', 'version', 'window', 'finding', 'upgrade'] as const;
export type ColorMode = (typeof COLOR_MODES)[number];

/** Names of the colors of cells; `--fleet-NAME` is the color itself, in each theme. */
export const SLOTS = [
  'none',
  'idle',
  'prepare',
  'asked',
  'working',
  'operators',
  'after',
  'done',
  'failed',
  'info',
  'unknown',
  'warning',
  'error',
  'critical',
  'soon',
  'today',
  'week',
  'later',
  'cat0',
  'cat1',
  'cat2',
  'cat3',
  'cat4',
  'cat5',
  'cat6',
  'cat7',
  'other',
] as const;
export type Slot = (typeof SLOTS)[number];
