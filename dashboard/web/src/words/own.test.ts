import { expect, it } from 'vitest';
import { wordOf } from '../fleet/toolbar';
import { docsOf, setDocsBase } from './docs';
import { own } from './own';

const OF_EVERY_OBJECT = ['constructor', '__proto__', 'toString', 'hasOwnProperty'];

it('finds what the record says', () => expect(own({ a: 1 }, 'a')).toBe(1));

it.each(OF_EVERY_OBJECT)('does not find %s, which every object has', (key) => expect(own({ a: 1 }, key)).toBeUndefined());

it.each(OF_EVERY_OBJECT)('a filter and a reason may be called %s', (word) => {
  expect(wordOf('window', word)).toBe(word);
  setDocsBase('https://docs.example.com');
  expect(docsOf(word)).toBe(`https://docs.example.com/reasons.html#${word.toLowerCase()}`);
});
