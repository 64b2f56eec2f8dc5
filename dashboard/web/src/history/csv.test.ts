import { expect, it } from 'vitest';
import { csv } from './csv';

it('writes lines that a spreadsheet reads, and no formulas', () => {
  const text = csv([
    { upgrade: 'a/b', cluster: '=cmd()', target: '4.18.9', outcome: 'Failed', reason: 'says "no", twice', attempt: 2, startedAt: 1_764_072_000, actualSeconds: 100, expectedSeconds: 160 },
    { upgrade: 'a/b', cluster: 'dev1\u202e', target: '4.18.9', outcome: 'Complete', reason: 'Upgraded', attempt: 1 },
  ]);
  expect(text).toBe(
    'ended_at,upgrade,target,started_by,cluster,outcome,reason,from,started_at,attempt,expected_seconds,actual_seconds,drift_seconds\n' +
      ',a/b,4.18.9,,\'=cmd(),Failed,"says ""no"", twice",,2025-11-25T12:00:00Z,2,160,100,-60\n' +
      ",a/b,4.18.9,,dev1,Complete,Upgraded,,,1,,,\n",
  );
});
