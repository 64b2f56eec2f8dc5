// The page of the docs that explains a reason. Where the docs are published, the server says (or nobody: then there are no links).

import { own } from './own';

// Those that have no section of their own name, and where they are explained.
const ELSEWHERE: Record<string, [string, string]> = {
  ClustersBlocked: ['forecasts', 'what-stops-a-rollout'],
  NoClusterFailed: ['conditions/ManagedClustersUpgrade/Failed', ''],
  AsExpected: ['conditions/ManagedClustersUpgrade/PreChecksPassed', ''],
};

let base = '';

export function setDocsBase(url: string | undefined): void {
  // Only what a browser opens as a page: a server that is mistaken must not make a link run code.
  base = url && /^(https?:\/\/|\/)/.test(url) ? url.replace(/\/$/, '') : '';
}

/** The address of what the docs say about a reason; undefined if it is not known where the docs are. */
export function docsOf(reason: string): string | undefined {
  if (base === '' || reason === '') return undefined;
  // A section is called by its reason.
  const [page, section] = own(ELSEWHERE, reason) ?? ['reasons', reason.toLowerCase()];
  return section ? `${addressOf(page)}#${encodeURIComponent(section)}` : addressOf(page);
}

/** The address of the list of all Events; undefined if it is not known where the docs are. */
export function docsOfEvents(): string | undefined {
  return base === '' ? undefined : addressOf('reference/events');
}

function addressOf(page: string): string {
  // A forge shows the sources of the book.
  return `${base}/${page}.${base.includes('/blob/') ? 'md' : 'html'}`;
}
