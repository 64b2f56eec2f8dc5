// A ManagedClustersUpgrade before it is applied: its forecast, beside that of another strategy.

import { useEffect, useState } from 'preact/hooks';
import { api, ApiError } from '../api/client';
import type { Forecast } from '../api/types';
import { ForecastFacts, ForecastView, Ends } from '../upgrade/forecast-section';
import { ActionDialog } from '../ui/action-dialog';
import { showDialog } from '../ui/dialog-host';
import { Alert, Button, Section, Spinner, Text } from '../ui/parts';
import { useStatus } from '../ui/use-app';

const EXAMPLE = `apiVersion: cluster.open-cluster-management.io/v1beta1
kind: ManagedClustersUpgrade
`;

type Result = { is: 'none' } | { is: 'busy' } | { is: 'done'; plans: Forecast[]; yaml: string } | { is: 'failed'; why: string };

export function PlanPage({ upgrade }: { upgrade: string }) {
  const app = useStatus();
  const [yaml, setYaml] = useState('');
  const [compare, setCompare] = useState<string | undefined>();
  const [result, set] = useState<Result>({ is: 'none' });
  const [error, setError] = useState<string | undefined>();

  useEffect(() => {
    if (!upgrade) return undefined;
    const stop = new AbortController();
    setError(undefined);
    api.upgrade(upgrade, stop.signal).then(
      (detail) => setYaml(detail.spec),
      (cause) => stop.signal.aborted || setError(cause instanceof ApiError ? cause.message : 'the answer cannot be read'),
    );
    return () => stop.abort();
  }, [upgrade]);

  const forecast = async () => {
    set({ is: 'busy' });
    try {
      const plans = await api.plan(compare?.trim() ? { yaml, compare } : { yaml });
      set({ is: 'done', plans, yaml });
    } catch (cause) {
      set({ is: 'failed', why: cause instanceof ApiError ? cause.message : 'the answer cannot be read' });
    }
  };
  const empty = yaml.trim() === '';
  return (
    <div class="sheet">
      <div class="page-head">
        <h1>Plan</h1>
        <p class="quiet">What would come of an upgrade, before it is applied. A forecast writes nothing.</p>
      </div>
      {error && <Alert kind="danger" title={<>The spec of <Text of={upgrade} limit={127} /> cannot be read.</>}>{error}</Alert>}
      <div class={compare === undefined ? 'editors' : 'editors two'}>
        <Editor label="ManagedClustersUpgrade (YAML)" value={yaml} onInput={setYaml} placeholder={EXAMPLE} />
        {compare !== undefined && <Editor label="Another strategy to compare with (YAML)" value={compare} onInput={setCompare} placeholder={EXAMPLE} />}
      </div>
      <div class="actions">
        <Button kind="primary" disabled={empty || result.is === 'busy'} onClick={forecast}>
          Forecast
        </Button>
        {compare === undefined ? (
          <Button disabled={empty} onClick={() => setCompare(yaml)}>Compare with another strategy</Button>
        ) : (
          <Button onClick={() => setCompare(undefined)}>Do not compare</Button>
        )}
        {app.session?.readOnly === false && (
          <Button disabled={empty} onClick={() => askApply(yaml, result.is === 'done' && result.yaml === yaml)}>Apply…</Button>
        )}
      </div>
      <div aria-live="polite">
        {result.is === 'busy' && <Spinner label="Simulating the rollout…" />}
        {result.is === 'failed' && <Alert kind="danger" title="There is no forecast."><Text of={result.why} limit={2000} /></Alert>}
        {result.is === 'done' && <Plans plans={result.plans} now={app.clock.now()} changed={result.yaml !== yaml} />}
      </div>
    </div>
  );
}

function askApply(yaml: string, forecast: boolean): void {
  showDialog((close) => (
    <ActionDialog title="Apply this upgrade?" action="Apply" send={() => api.apply(yaml)} onClose={close}>
      <p>
        It is written to the hub with your own rights, as <code>kubectl apply --server-side</code> does. Unless it is paused, its clusters start as its
        strategy allows: at once, if nothing holds them back.
      </p>
      {!forecast && <Alert kind="warning" title="There is no forecast of it as it is now." />}
    </ActionDialog>
  ));
}

function Editor(props: { label: string; value: string; placeholder: string; onInput: (value: string) => void }) {
  const open = async (file: File | undefined) => {
    // An object is at most 1.5 MB; anything larger is another file by mistake.
    if (file && file.size < 2_000_000) props.onInput(await file.text());
  };
  return (
    <div class="editor">
      <label>
        <span>{props.label}</span>
        <span class="pf-v6-c-form-control pf-m-textarea">
          <textarea
            value={props.value}
            placeholder={props.placeholder}
            spellcheck={false}
            rows={18}
            onInput={(event) => props.onInput(event.currentTarget.value)}
            onDragOver={(event) => event.preventDefault()}
            onDrop={(event) => {
              if (!event.dataTransfer?.files.length) return;
              event.preventDefault();
              void open(event.dataTransfer.files[0]);
            }}
          />
        </span>
      </label>
      <label class="file">
        Open a file <input type="file" accept=".yaml,.yml,.json" onChange={(event) => void open(event.currentTarget.files?.[0])} />
      </label>
    </div>
  );
}

function Plans({ plans, now, changed }: { plans: Forecast[]; now: number; changed: boolean }) {
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
          <ForecastView forecasts={plans.map((plan) => plan)} now={now} facts={false} />
          <div class="editors two">
            {plans.map((plan, i) => (
              <div key={i}>
                <h3>
                  <span class={`swatch chart-${i}`} aria-hidden="true" /> <Text of={plan.title} limit={200} />
                </h3>
                <Ends band={plan} now={now} />
                {!plan.p50 && <p>Fewer than half of the runs that were simulated end.</p>}
                <ForecastFacts forecast={plan} />
              </div>
            ))}
          </div>
        </Section>
      )}
    </>
  );
}
