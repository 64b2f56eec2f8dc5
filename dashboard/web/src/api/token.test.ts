import { beforeEach, expect, it, vi } from 'vitest';
import { keepToken, takeToken, token } from './token';

/** The address and the storage of a browser, as far as they are needed. */
function opens(hash: string, hostname: string): void {
  const stored = new Map<string, string>();
  vi.stubGlobal('sessionStorage', { getItem: (key: string) => stored.get(key) ?? null, setItem: (key: string, value: string) => stored.set(key, value) });
  vi.stubGlobal('location', { hash, hostname, pathname: '/', search: '' });
  vi.stubGlobal('history', { replaceState: vi.fn() });
}

beforeEach(() => vi.unstubAllGlobals());

it.each(['127.0.0.1', 'localhost', '[::1]'])('a link to %s has the token, also in place of an older one', (host) => {
  opens('#token=a%2Bb', host);
  keepToken('old');
  takeToken();
  expect(token()).toBe('a+b');
  expect(history.replaceState).toHaveBeenCalledWith(null, '', '/');
});

it('a link to the page of a hub signs nobody in, and leaves the address', () => {
  opens('#token=other', 'drydock.apps.example.com');
  takeToken();
  expect(token()).toBeNull();
  expect(history.replaceState).toHaveBeenCalledOnce();
});

it.each(['#/fleet?text=a&token=zz', '#text=a&token=zz', '#token=a&b=c', '#/token=a', '#token', ''])('%s is no link with a token', (hash) => {
  opens(hash, '127.0.0.1');
  keepToken('own');
  takeToken();
  expect(token()).toBe('own');
  expect(history.replaceState).not.toHaveBeenCalled();
});
