import { expect, it } from 'vitest';
import { csv } from './csv';

it('writes lines that a spreadsheet reads, and no formulas', () => {
  const text = csv([
    { upgrade: 'a/b', cluster: '=cmd()', target: '4.18.9', outcome: 'Failed', reason: 'says "no", twice', attempt: 2, startedAt: 1_764_072_000, actualSeconds: 100, canary: true },
    { upgrade: 'a/b', cluster: 'dev1\u202e', target: '4.18.9', outcome: 'Complete', reason: 'Upgraded', attempt: 1, forecast: { errorSeconds: -5, withinBand: false, p50: 1_764_072_000 } },
  ]);
  const [head, ...lines] = text.trimEnd().split('\n');
  expect(head).toMatch(/^ended_at,upgrade,target,started_by,cluster,canary,outcome,reason,message,from,to,started_at,.*,forecast_error_seconds,forecast_within_band$/);
  expect(lines).toEqual([
    ',a/b,4.18.9,,\'=cmd(),true,Failed,"says ""no"", twice",,,,2025-11-25T12:00:00Z,2,100,,,,,,,',
    ',a/b,4.18.9,,dev1,,Complete,Upgraded,,,,,1,,,,2025-11-25T12:00:00Z,,,-5,false',
  ]);
});
