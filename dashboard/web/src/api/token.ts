// The bearer token comes once in the fragment of the address (`#token=…`). It is taken out of the address at once, so that it is
// neither in the history of the browser nor in a link that somebody copies, and lives as long as the tab.

const KEY = 'drydock-token';

/** Takes the token out of the fragment, if it is there. */
export function takeToken(): void {
  const fragment = new URLSearchParams(location.hash.slice(1));
  const token = fragment.get('token');
  if (token === null) return;
  sessionStorage.setItem(KEY, token);
  history.replaceState(null, '', location.pathname + location.search);
}

/** A user has typed a token. */
export function keepToken(token: string): void {
  sessionStorage.setItem(KEY, token);
}

export function token(): string | null {
  return sessionStorage.getItem(KEY);
}
