import { expect, it } from 'vitest';
import type { HistoryRow } from '../api/types';
import { accuracy, rollouts } from './rollouts';

const row = (change: Partial<HistoryRow>): HistoryRow => ({ upgrade: 'a/b', cluster: 'c', target: '4.18.9', outcome: 'Complete', reason: 'Upgraded', attempt: 1, ...change });

it('each rollout has its forecast once, the newest first', () => {
  const forecast = (ended: number) => ({ p10: 100, p50: 200, p90: 300, ended, errorSeconds: ended - 200, withinBand: ended <= 300 });
  const found = rollouts([
    row({ cluster: 'c1', rolloutSince: 10, forecast: forecast(250) }),
    row({ cluster: 'c2', rolloutSince: 10, forecast: forecast(250) }),
    row({ rolloutSince: 20, forecast: forecast(400) }),
    row({ rolloutSince: 30 }),
  ]);
  expect(found.map(({ since }) => since)).toEqual([20, 10]);
});

it.each([
  [{ p10: 1000, ended: 5010, errorSeconds: 10, withinBand: true }, 'at that minute, within the band'],
  [{ p10: 1000, ended: 5720, errorSeconds: 720, withinBand: true }, '12m later, within the band'],
  [{ p10: 1000, ended: 9000, errorSeconds: 5400, withinBand: false }, '1h30m later, after the band'],
  [{ p10: 1000, ended: 900, errorSeconds: -3600, withinBand: false }, '1h00m earlier, before the band'],
])('%j is %s', (forecast, said) => expect(accuracy(forecast)).toBe(said));
