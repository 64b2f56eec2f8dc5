import { describe, expect, it } from 'vitest';
import type { ConnectionState } from '../store/connection';
import { isGone } from './gone';

const CUT: ConnectionState = { is: 'cut', since: 0, why: '' };
const FORBIDDEN: ConnectionState = { is: 'refused', status: 403, why: '' };
const EXPIRED: ConnectionState = { is: 'refused', status: 401, why: '' };

/** What the page knows: the keys of the list, or none before the first one. */
const known = (connection: ConnectionState, keys?: string[]) => ({
  connection,
  fleet: { revision: keys && 1, upgrades: new Map((keys ?? []).map((key) => [key, undefined])) },
});

describe('an upgrade', () => {
  it('is there while it is listed', () => expect(isGone(known({ is: 'live' }, ['a/b']), 'a/b')).toBe(false));
  it('is gone when it is not listed', () => expect(isGone(known({ is: 'live' }, ['a/c']), 'a/b')).toBe(true));
  it('is gone when nothing may be seen', () => {
    expect(isGone(known(FORBIDDEN), 'a/b')).toBe(true);
    expect(isGone(known(FORBIDDEN), undefined)).toBe(true);
  });
  it('is not gone before there is a list, nor by a connection that is lost', () => {
    expect(isGone(known({ is: 'loading' }), 'a/b')).toBe(false);
    expect(isGone(known(CUT), 'a/b')).toBe(false);
    expect(isGone(known(CUT, ['a/b']), 'a/b')).toBe(false);
    expect(isGone(known(EXPIRED, ['a/b']), 'a/b')).toBe(false);
  });
  it('stays gone while nothing comes', () => expect(isGone(known(CUT, ['a/c']), 'a/b')).toBe(true));
  it('cannot go where none was opened', () => expect(isGone(known({ is: 'live' }, []), undefined)).toBe(false));
});
