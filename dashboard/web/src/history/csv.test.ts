import { expect, it } from 'vitest';
import { csv } from './csv';

it('writes lines that a spreadsheet reads, and no formulas', () => {
  const text = csv([
    { upgrade: 'a/b', cluster: '=cmd()', target: '4.18.9', outcome: 'Failed', reason: 'says "no", twice', attempt: 2, startedAt: 1_764_072_000, actualSeconds: 100, canary: true },
    { upgrade: 'a/b', deleted: true, cluster: 'dev1\u202e', target: '4.18.9', rolloutSince: 1_764_072_000, outcome: 'Complete', reason: 'Upgraded', attempt: 1, forecast: { errorSeconds: -5, withinBand: false, p50: 1_764_072_000 } },
  ]);
  const [head, ...lines] = text.trimEnd().split('\n');
  expect(head).toMatch(/^ended_at,namespace,upgrade,upgrade_deleted,target,rollout_since,started_by,cluster,canary,outcome,reason,message,from,to,started_at,attempt,actual_seconds,forecast_p10,.*,forecast_error_seconds,forecast_within_band$/);
  expect(lines).toEqual([
    ',a,b,false,4.18.9,,,\'=cmd(),true,Failed,"says ""no"", twice",,,,2025-11-25T12:00:00Z,2,100,,,,,,',
    ',a,b,true,4.18.9,2025-11-25T12:00:00Z,,dev1,,Complete,Upgraded,,,,,1,,,2025-11-25T12:00:00Z,,,-5,false',
  ]);
});

it.each([
  ['=1', "'=1"],
  ['  =1', "'  =1"],
  ['\u00a0@x', "'\u00a0@x"],
  ['\u200b+1', "'+1"],
  ['＝1', "'＝1"],
  ['＋1', "'＋1"],
  ['－1', "'－1"],
  ['＠x', "'＠x"],
  ['\t1', '"\'\t1"'],
  ['a;=cmd()', '"a;\'=cmd()"'],
  ['a;"=cmd()', '"a;\'""=cmd()"'],
  ['a; =cmd()', '"a;\' =cmd()"'],
  ['a\t@x', '"a\t\'@x"'],
  ['a\n-1', '"a\n\'-1"'],
  ['a;b', '"a;b"'],
  ['a-b=c@d', 'a-b=c@d'],
])('%j starts no formula, here or elsewhere', (reason, cell) => {
  const text = csv([{ upgrade: 'a/b', cluster: 'c', target: 't', outcome: 'Failed', reason, attempt: 1 }]);
  expect(text.slice(text.indexOf('\n') + 1)).toBe(`,a,b,false,t,,,c,,Failed,${cell},,,,,1,,,,,,,\n`);
});
