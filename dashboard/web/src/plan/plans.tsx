// The forecasts of one text, or of two beside each other.

import type { Forecast } from '../api/types';
import { Ends, ForecastFacts, ForecastView, NoEnd } from '../upgrade/forecast-section';
import { Alert, Section, Text } from '../ui/parts';

export function Plans({ plans, now, changed }: { plans: Forecast[]; now: number; changed: boolean }) {
  const [first, second] = plans;
  if (!first) return <p>There is nothing to forecast.</p>;
  return (
    <>
      {changed && <Alert kind="info" title="The text has been edited since this forecast." />}
      {!second ? (
        <Section title={first.title} wide>
          <ForecastView forecasts={plans} now={now} />
        </Section>
      ) : (
        <Section title="Two strategies" wide>
          {first.key !== second.key && <Alert kind="info" title="The texts are of two upgrades. Each is forecast as if the other were not applied." />}
          <ForecastView forecasts={plans} now={now} facts={false} />
          <div class="editors two">
            {plans.map((plan, i) => (
              <div key={i}>
                <h3>
                  <span class={`swatch chart-${i}`} aria-hidden="true" /> {i === 0 ? 'First' : 'Second'}: <Text of={plan.title} limit={200} />
                </h3>
                <Ends band={plan} stops={plan.stops.length > 0} now={now} />
                <NoEnd forecast={plan} />
                <ForecastFacts forecast={plan} now={now} />
              </div>
            ))}
          </div>
        </Section>
      )}
    </>
  );
}
