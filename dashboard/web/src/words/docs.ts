// The page of the docs that explains a reason. Where the docs are published, the server says (or nobody: then there are no links).

const MCU_REASONS = new Set([
  'InvalidSpec',
  'NoClustersSelected',
  'PlacementNotFound',
  'PlacementUnsatisfied',
  'PlacementForbidden',
  'Paused',
  'CanaryFailed',
  'NoCanaryMatched',
  'FailureBudgetSpent',
  'CanarySoaking',
  'FreezeCalendarUnreadable',
  'NotStarted',
  'ManagedClustersUpgradeComplete',
  'PreChecksPassed',
  'DeletingWorks',
]);

let base = '';

export function setDocsBase(url: string | undefined): void {
  // Only what a browser opens as a page: a server that is mistaken must not make a link run code.
  base = url && /^(https?:\/\/|\/)/.test(url) ? url.replace(/\/$/, '') : '';
}

/** The address of what the docs say about a reason; undefined if it is not known where the docs are. */
export function docsOf(reason: string, state = ''): string | undefined {
  if (base === '' || reason === '') return undefined;
  // A forge shows the sources of the book.
  const page = `${base}/when-a-rollout-stops.${base.includes('/blob/') ? 'md' : 'html'}`;
  if (state === 'Failed') return `${page}#why-a-cluster-failed`;
  if (MCU_REASONS.has(reason) && state === '') return `${page}#the-mcu`;
  return `${page}#what-a-cluster-waits-for`;
}
