// How good the forecasts of rollouts were: each against how it ended.

import type { HistoryRow, RolloutForecast } from '../api/types';
import { Text } from '../ui/parts';
import { Table } from '../ui/table';
import { duration, moment } from '../words/time';

export interface Rollout {
  upgrade: string;
  target: string;
  since: number | undefined;
  forecast: RolloutForecast;
}

/** The rollouts of attempts that have a forecast, the newest first: attempts of one rollout all have its forecast. */
export function rollouts(rows: HistoryRow[]): Rollout[] {
  const found = new Map<string, Rollout>();
  for (const { upgrade, target, rolloutSince: since, forecast } of rows) {
    if (forecast?.p50 !== undefined && forecast.ended !== undefined) found.set(JSON.stringify([upgrade, target, since ?? forecast.ended]), { upgrade, target, since, forecast });
  }
  return [...found.values()].sort((a, b) => Number(b.forecast.ended) - Number(a.forecast.ended));
}

/** 12m later, within the band. */
export function accuracy({ p10, ended, errorSeconds = 0, withinBand }: RolloutForecast): string {
  const apart = Math.abs(errorSeconds) < 30 ? 'at that minute' : `${duration(Math.abs(errorSeconds))} ${errorSeconds < 0 ? 'earlier' : 'later'}`;
  if (withinBand === undefined) return apart;
  const place = withinBand ? 'within' : (ended ?? 0) < (p10 ?? 0) ? 'before' : 'after';
  return `${apart}, ${place} the band`;
}

export function Forecasts({ of, now }: { of: Rollout[]; now: number }) {
  if (of.length === 0) return null;
  const at = (time: number | undefined) => (time === undefined ? '' : moment(time, now));
  const within = of.filter(({ forecast }) => forecast.withinBand).length;
  return (
    <details class="forecasts">
      <summary>
        {within} of {of.length} {of.length === 1 ? 'rollout' : 'rollouts'} ended within the band of the forecast of {of.length === 1 ? 'its' : 'their'} start; 8 in 10 should
      </summary>
      <Table
        label="Forecasts against how rollouts ended"
        head={['Upgrade', 'To', 'Begun', 'Forecast (p50)', 'Band (p10 to p90)', 'Ended', 'Against the forecast']}
        rows={of.slice(0, 50).map(({ upgrade, target, since, forecast }, i) => ({
          key: `${i} ${upgrade}`,
          cells: [
            <Text of={upgrade} limit={127} />,
            <Text of={target} limit={63} />,
            at(since),
            at(forecast.p50),
            `${at(forecast.p10)} to ${at(forecast.p90)}`,
            at(forecast.ended),
            accuracy(forecast),
          ],
        }))}
        more={of.length - 50}
      />
    </details>
  );
}
