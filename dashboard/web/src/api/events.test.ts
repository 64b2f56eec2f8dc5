import { expect, it } from 'vitest';
import { EventParser } from './events';

const all = (pieces: string[]) => {
  const parser = new EventParser();
  return pieces.flatMap((piece) => parser.push(piece));
};

it('reads events, and passes over comments', () => {
  expect(all([': hello\n\nid: 4\nevent: change\ndata: {"a":1}\n\n'])).toEqual([{ id: '4', event: 'change', data: '{"a":1}' }]);
});

it('puts pieces together wherever they were cut', () => {
  const text = 'id: 4\r\nevent: change\r\ndata: one\r\ndata: two\r\n\r\n: x\n\nevent: reset\ndata: {}\n\n';
  for (let cut = 0; cut <= text.length; cut++) {
    expect(all([text.slice(0, cut), text.slice(cut)])).toEqual([
      { id: '4', event: 'change', data: 'one\ntwo' },
      { id: '4', event: 'reset', data: '{}' },
    ]);
  }
});

it('does not give what has no end yet', () => {
  expect(all(['event: change\ndata: 1\n'])).toEqual([]);
});
