import { expect, it, vi } from 'vitest';
import { areDraftsOf, draftOf, EMPTY, isChanged, keepDraft, withoutUpgrade } from './drafts';

it('is what differs from the text at first, and is not empty', () => {
  expect(isChanged(EMPTY)).toBe(false);
  expect(isChanged({ ...EMPTY, original: 'a', yaml: 'a' })).toBe(false);
  expect(isChanged({ ...EMPTY, original: 'a', yaml: 'b' })).toBe(true);
  expect(isChanged({ ...EMPTY, original: 'a', yaml: 'a', compare: 'b' })).toBe(true);
});

it('is kept until it is what it was at first', () => {
  const draft = { ...EMPTY, original: 'a', yaml: 'b' };
  keepDraft('default/spring', draft);
  expect(draftOf('default/spring')).toBe(draft);
  keepDraft('default/spring', { ...draft, original: 'b' });
  expect(draftOf('default/spring')).toBeUndefined();
});

it('is there again when the page is loaded anew in the same tab', async () => {
  const stored = new Map<string, string>();
  vi.stubGlobal('sessionStorage', { getItem: (key: string) => stored.get(key) ?? null, setItem: (key: string, value: string) => stored.set(key, value) });
  const draft = { ...EMPTY, original: 'a', yaml: 'b' };
  keepDraft('default/spring', draft);
  vi.resetModules();
  const again = await import('./drafts');
  expect(again.draftOf('default/spring')).toEqual(draft);
  stored.set('drydock-drafts', 'no json');
  vi.resetModules();
  expect((await import('./drafts')).draftOf('default/spring')).toBeUndefined();
});

it('is not shown to somebody else who signs in in the same tab', () => {
  const stored = new Map<string, string>();
  vi.stubGlobal('sessionStorage', { getItem: (key: string) => stored.get(key) ?? null, setItem: (key: string, value: string) => stored.set(key, value) });
  expect(areDraftsOf('eve', 'staging')).toBe(true);
  keepDraft('default/spring', { ...EMPTY, original: 'a', yaml: 'b' });
  expect(areDraftsOf('eve', 'staging')).toBe(true);
  expect(draftOf('default/spring')).toBeDefined();
  expect(areDraftsOf('bob', 'staging')).toBe(false);
  expect(draftOf('default/spring')).toBeUndefined();
  expect(stored.get('drydock-drafts')).toBe('[]');
});

it('is forgotten if nobody knows whose it is', async () => {
  const stored = new Map<string, string>([['drydock-drafts', JSON.stringify([['default/spring', { ...EMPTY, original: 'a', yaml: 'b' }]])]]);
  vi.stubGlobal('sessionStorage', { getItem: (key: string) => stored.get(key) ?? null, setItem: (key: string, value: string) => stored.set(key, value) });
  vi.resetModules();
  const again = await import('./drafts');
  expect(again.areDraftsOf('bob', 'staging')).toBe(false);
  expect(again.draftOf('default/spring')).toBeUndefined();
});

it('is not shown for another hub of the same address', () => {
  const stored = new Map<string, string>();
  vi.stubGlobal('sessionStorage', { getItem: (key: string) => stored.get(key) ?? null, setItem: (key: string, value: string) => stored.set(key, value) });
  expect(areDraftsOf('eve', 'staging')).toBe(true);
  keepDraft('default/spring', { ...EMPTY, original: 'a', yaml: 'b' });
  expect(areDraftsOf('eve', 'production')).toBe(false);
  expect(draftOf('default/spring')).toBeUndefined();
});

it('has only what somebody has written once its upgrade is gone', () => {
  const opened = { ...EMPTY, original: 'a', yaml: 'a', edition: '1' };
  expect(withoutUpgrade(opened)).toEqual(EMPTY);
  expect(withoutUpgrade({ ...opened, compare: 'a', comparing: true })).toEqual(EMPTY);
  expect(withoutUpgrade({ ...opened, yaml: 'b', sent: 'b' })).toEqual({ ...opened, original: '', yaml: 'b', sent: 'b' });
  const compared = { ...opened, compare: 'b', comparing: true };
  expect(withoutUpgrade(compared)).toEqual({ ...compared, original: '', yaml: '' });
  expect(isChanged(withoutUpgrade(compared))).toBe(true);
});
