// The states of a cluster, as docs/concepts.md names them.

export const STATES = [
  'NotStarted',
  'PreAction',
  'Initialized',
  'PartialUpgrade',
  'Operators',
  'PostAction',
  'Complete',
  'Failed',
] as const;

const IN_FLIGHT_STATES = new Set<string>(['PreAction', 'Initialized', 'PartialUpgrade', 'Operators', 'PostAction']);

/** What a filter asks for to have the clusters of all these states. */
export const IN_FLIGHT = 'InFlight';

export function isInFlight(state: string): boolean {
  return IN_FLIGHT_STATES.has(state);
}

/** What a state means, for the legend. */
export const STATE_MEANING: Record<string, string> = {
  '': 'no upgrade that is shown has it',
  NotStarted: 'selected, waiting',
  PreAction: 'the pre-upgrade action runs',
  Initialized: 'asked for the target; does not show it yet',
  PartialUpgrade: 'works towards the target',
  Operators: 'operators are being upgraded',
  PostAction: 'the post-upgrade action runs',
  Complete: 'runs the target, all stages succeeded',
  Failed: 'a stage has failed; stays so until a retry',
};

export const LEVELS = ['Critical', 'Error', 'Warning', 'Unknown', 'Info'];
