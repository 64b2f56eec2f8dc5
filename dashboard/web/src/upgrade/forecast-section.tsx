// When the upgrade ends and how sure that is.

import { lazy, Suspense } from '../ui/lazy';
import { api } from '../api/client';
import type { Band, EndedPoint, Forecast, Upgrade } from '../api/types';
import { isComplete } from '../fleet/upgrade-order';
import { NotCurrent } from '../ui/not-current';
import { Alert, Button, Names, Reason, Spinner, Text } from '../ui/parts';
import { type Loaded, useApp, useLoaded } from '../ui/use-app';
import { clusters, percents } from '../words/text';
import { momentAndDistance, pastMoment } from '../words/time';

const Chart = lazy(() => import('../ui/forecast-chart'));

export function ForecastSection({ upgrade, ended, now }: { upgrade: Upgrade; ended: EndedPoint[]; now: number }) {
  // A forecast takes the server a second: it is asked for anew when clusters have ended or the hub has forecast anew, but not more often
  // than every 30 seconds (of the hub). Once the upgrade is another one, is edited, paused or halts, an older one is no longer true.
  const { counts, uid, generation } = upgrade;
  const { clock } = useApp();
  const which = `${upgrade.key} ${uid} ${generation} ${upgrade.halt?.reason ?? ''}`;
  const ofHub = `${upgrade.forecast?.p50 ?? ''} ${upgrade.forecast?.stopPercent ?? ''}`;
  const changes = `${counts.complete} ${counts.failed} ${ofHub}`;
  const forecast = useLoaded(which, (signal) => api.forecast(upgrade.key, signal), changes, Math.max(5000, clock.tick));
  if (!forecast.value) {
    return (
      <>
        <Late of={upgrade} now={now} />
        <Ends band={upgrade.forecast ?? {}} stops={(upgrade.forecast?.stopPercent ?? 0) > 0} now={now} />
        {forecast.loading ? <Spinner label="Simulating the rest of the rollout…" /> : <NoForecast loaded={forecast} />}
      </>
    );
  }
  return (
    <>
      {forecast.error !== undefined && <NotCurrent loaded={forecast} />}
      <Late of={upgrade} now={now} />
      <ForecastView forecasts={[forecast.value]} ended={ended} now={now} total={counts.selected} paused={upgrade.paused} />
    </>
  );
}

/** Why there is none. One that did not come may come when it is asked for again: nothing else asks, while nothing changes. */
function NoForecast({ loaded }: { loaded: Loaded<Forecast> }) {
  return (
    <Alert kind="info" title="There is no forecast.">
      <Text of={loaded.error ?? ''} limit={1000} />{' '}
      <Button kind="link" small onClick={loaded.reload}>
        Try again
      </Button>
    </Alert>
  );
}

function Late({ of: { forecast, counts }, now }: { of: Upgrade; now: number }) {
  if (!forecast?.lateAfter || isComplete(counts)) return null;
  return (
    <p>
      <span class="bad">Late:</span> expected after {momentAndDistance(forecast.lateAfter, now)}, the p90 of its start.
    </p>
  );
}

interface Shown {
  forecasts: Forecast[];
  ended?: EndedPoint[];
  now: number;
  total?: number;
  facts?: boolean;
  paused?: boolean;
}

export function ForecastView({ forecasts, ended = [], now, total, facts = true, paused = false }: Shown) {
  const [first] = forecasts;
  if (!first) return null;
  return (
    <>
      {facts && <Ends band={first} stops={first.stops.length > 0} now={now} />}
      {facts && <NoEnd forecast={first} paused={paused} />}
      {forecasts.some((forecast) => forecast.curve?.length) && (
        <Suspense fallback={<Spinner label="Loading the chart…" />}>
          <Chart forecasts={forecasts} ended={ended} now={now} total={total} />
        </Suspense>
      )}
      {facts && <ForecastFacts forecast={first} now={now} />}
    </>
  );
}

export function NoEnd({ forecast, paused = false }: { forecast: Forecast; paused?: boolean }) {
  if (forecast.p50) return null;
  if (paused) return <p>Paused: no end.</p>;
  const stops = forecast.stops.reduce((sum, stop) => sum + stop.share, 0);
  return <p>{stops > 0.999 ? 'None' : 'Fewer than half'} of the runs that were simulated end.</p>;
}

/** `stops`: some runs come to no end, and are not counted. */
export function Ends({ band, stops, now }: { band: Band; stops: boolean; now: number }) {
  if (!band.p50) return null;
  return (
    <p>
      Ends <strong>{momentAndDistance(band.p50, now)}</strong> in half of the runs{stops && ' that end'}
      {band.p10 && band.p90 && (
        <>
          ; between {momentAndDistance(band.p10, now)} and {momentAndDistance(band.p90, now)} in eight of ten
        </>
      )}
      .
    </p>
  );
}

export function ForecastFacts({ forecast, now }: { forecast: Forecast; now: number }) {
  const stops = percents(forecast.stops.map((stop) => stop.share));
  const waits = percents(forecast.waitsFor.map((wait) => wait.share));
  return (
    <>
      {forecast.computedAt !== undefined && <p class="quiet">Made {pastMoment(forecast.computedAt, now)}.</p>}
      <ul class="facts inline">
        <li>
          <strong>Stops:</strong>{' '}
          {forecast.stops.length === 0
            ? 'in no run'
            : forecast.stops.map((stop, i) => (
                <span key={stop.cause}>
                  {i > 0 && ', '}
                  {stops[i]} <Reason reason={stop.cause} />
                </span>
              ))}
        </li>
        {forecast.waitsFor.length > 0 && (
          <li>
            <strong>Waits for:</strong>{' '}
            {forecast.waitsFor.map((wait, i) => (
              <span key={wait.what}>
                {i > 0 && ', '}
                <Text of={wait.what} limit={63} /> {waits[i]}
              </span>
            ))}
          </li>
        )}
        <li>
          <strong>Failures:</strong> {forecast.failures} (median) · <strong>In flight:</strong> {forecast.inFlightAtMost} at most
        </li>
      </ul>
      {!forecast.confident && <Alert kind="warning" title="Not confident: fewer runs complete than are asked for." />}
      {forecast.shared.map((sentence) => (
        <p key={sentence}>
          <Text of={sentence} limit={500} />.
        </p>
      ))}
      {forecast.blocked.map((blocked) => (
        <p key={blocked.reason + blocked.message}>
          {clusters(blocked.clusters.length)} cannot start: <Reason reason={blocked.reason} /> <Text of={blocked.message} />{' '}
          <Names names={blocked.clusters} />
        </p>
      ))}
      <details>
        <summary>As kubectl drydock plan prints it</summary>
        <pre class="yaml" tabIndex={0}>
          {forecast.text}
        </pre>
      </details>
    </>
  );
}
