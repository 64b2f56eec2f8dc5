// The bearer token comes once in the fragment of the address (`#token=…`) of the page that runs on one's own machine. It is taken out of
// the address at once, so that it is in no link that somebody copies, and lives as long as the tab.

const KEY = 'drydock-token';
const LINK = /^#token=([^&?#]*)$/;
const LOOPBACK = new Set(['127.0.0.1', 'localhost', '[::1]']);

/** Whether a fragment is a link with a token, and nothing else. */
export function isTokenLink(fragment: string): boolean {
  return LINK.test(fragment);
}

/**
 * The token of a link. The page of a hub takes none: a link would sign its user in as somebody else, without a word. There tokens are
 * typed, or a proxy has them.
 */
export function tokenOfLink(fragment: string, host: string): string | undefined {
  const found = LINK.exec(fragment)?.[1];
  return found && LOOPBACK.has(host) ? decode(found) : undefined;
}

/** Takes the token out of the fragment, if it is there. */
export function takeToken(): void {
  if (!isTokenLink(location.hash)) return;
  const token = tokenOfLink(location.hash, location.hostname);
  if (token !== undefined) keepToken(token);
  history.replaceState(null, '', location.pathname + location.search);
}

/** A user has typed a token, or opened the link with it. */
export function keepToken(token: string): void {
  sessionStorage.setItem(KEY, token);
}

export function token(): string | null {
  return sessionStorage.getItem(KEY);
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
