// Texts that somebody has changed and not applied yet. They stay while one looks at another page, and in this tab when one has to sign in
// again; the browser asks before it leaves them.

export interface Draft {
  /** What the text was at first, or when it was last applied. */
  original: string;
  yaml: string;
  /** What it is compared with; kept while nothing is compared. */
  compare: string;
  comparing: boolean;
  /** The edition of the upgrade that is edited; none for a text of one's own. */
  edition?: string;
  /** The text of it that was sent last to be applied, while no answer has come. */
  sent?: string;
}

/** What the answer to a text that was sent makes of its draft. */
export type Answer = Partial<Pick<Draft, 'original' | 'edition'>>;

const listeners = new Set<(upgrade: string, text: string, answer: Answer) => void>();

/** Calls back when an answer comes, whoever has sent the text: the page may have been left and opened again since. */
export function onAnswer(listener: (upgrade: string, text: string, answer: Answer) => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** A draft after the answer to a text: as it was, if that was discarded since, or another text was sent. */
export function withAnswer(draft: Draft, text: string, answer: Answer): Draft {
  return draft.sent === text ? { ...draft, ...answer, sent: undefined } : draft;
}

/** The answer to a text has come. */
export function answered(upgrade: string, text: string, answer: Answer): void {
  const kept = drafts.get(upgrade);
  if (kept) keepDraft(upgrade, withAnswer(kept, text, answer));
  listeners.forEach((listener) => listener(upgrade, text, answer));
}

export const EMPTY: Draft = { original: '', yaml: '', compare: '', comparing: false };

const KEY = 'drydock-drafts';
const OWNER = 'drydock-drafts-of';

/** By the upgrade that they began with. */
const drafts = new Map<string, Draft>(stored());
/** Whether any were there before this page. */
const wereThere = drafts.size > 0;

function stored(): [string, Draft][] {
  try {
    const entries: unknown = JSON.parse(sessionStorage.getItem(KEY) ?? '[]');
    return Array.isArray(entries) ? entries : [];
  } catch {
    // A browser that keeps nothing, or what is no JSON.
    return [];
  }
}

function store(): void {
  try {
    sessionStorage.setItem(KEY, JSON.stringify([...drafts]));
  } catch {
    // It is kept while the page is open.
  }
}

export function isChanged({ original, yaml, compare }: Draft): boolean {
  return [yaml, compare].some((text) => text !== original && text.trim() !== '');
}

/** What is left of a draft when its upgrade may not be seen: what somebody has written. */
export function withoutUpgrade(draft: Draft): Draft {
  const written = (text: string) => (text === draft.original ? '' : text);
  const left = { ...draft, original: '', yaml: written(draft.yaml), compare: written(draft.compare) };
  return isChanged(left) ? left : EMPTY;
}

export function draftOf(upgrade: string): Draft | undefined {
  return drafts.get(upgrade);
}

/** Remembers a text if it would be lost otherwise. */
export function keepDraft(upgrade: string, draft: Draft): void {
  if (isChanged(draft)) drafts.set(upgrade, draft);
  else drafts.delete(upgrade);
  store();
}

/** Whether the texts that are kept are a user's, who has signed in at a hub. Those of another one, or for another hub, are forgotten. */
export function areDraftsOf(user: string, hub: string): boolean {
  const signedIn = JSON.stringify([user, hub]);
  try {
    const owner = sessionStorage.getItem(OWNER);
    sessionStorage.setItem(OWNER, signedIn);
    // Nobody knows whose those are that were kept before anybody was known.
    if ((owner === null && !wereThere) || owner === signedIn || drafts.size === 0) return true;
  } catch {
    // A browser that keeps nothing keeps nothing of others.
    return true;
  }
  drafts.clear();
  store();
  return false;
}

/** Lets the browser ask before the page is closed or loaded again. */
export function guardDrafts(): void {
  addEventListener('beforeunload', (event) => {
    if (drafts.size > 0) event.preventDefault();
  });
}
