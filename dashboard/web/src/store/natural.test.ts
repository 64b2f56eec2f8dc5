import { expect, it } from 'vitest';
import { naturalCompare } from './natural';

it('takes numbers for numbers', () => {
  const names = ['dev10', 'dev2', 'dev02', 'dev', 'a-9-b', 'a-10-a', '12', '9', 'dev99999999999999999999', 'dev100000000000000000000'];
  expect(names.sort(naturalCompare)).toEqual(['9', '12', 'a-9-b', 'a-10-a', 'dev', 'dev02', 'dev2', 'dev10', 'dev99999999999999999999', 'dev100000000000000000000']);
});
