// A ManagedClustersUpgrade before it is applied: its forecast, beside that of another strategy.

import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { api, ApiError, type Done } from '../api/client';
import type { Forecast } from '../api/types';
import { Ends, ForecastFacts, ForecastView, NoEnd } from '../upgrade/forecast-section';
import { showDialog } from '../ui/dialog-host';
import { Alert, Button, Section, Spinner, Text } from '../ui/parts';
import { useStatus } from '../ui/use-app';
import { ApplyDialog, type Which } from './apply-dialog';
import { answered, type Draft, draftOf, EMPTY, isChanged, keepDraft, onAnswer, withAnswer, withoutUpgrade } from './drafts';
import { useGone } from '../ui/gone';

const EXAMPLE = `apiVersion: cluster.open-cluster-management.io/v1beta1
kind: ManagedClustersUpgrade
`;

type Result = { is: 'none' } | { is: 'busy' } | { is: 'done'; plans: Forecast[]; yaml: string; compare: string | undefined } | { is: 'failed'; why: string };

export function PlanPage({ upgrade }: { upgrade: string }) {
  const app = useStatus();
  const gone = useGone(upgrade || undefined);
  const [draft, setDraft] = useState<Draft>(() => draftOf(upgrade) ?? EMPTY);
  const [isKept, setKept] = useState(() => draftOf(upgrade) !== undefined);
  const [result, set] = useState<Result>({ is: 'none' });
  const [error, setError] = useState<string | undefined>();
  const [tries, setTries] = useState(0);
  const { yaml, comparing } = draft;
  const compare = comparing ? draft.compare : undefined;
  const change = (part: Partial<Draft>) => setDraft((before) => ({ ...before, ...part }));

  useLayoutEffect(() => keepDraft(upgrade, draft), [upgrade, draft]);
  useEffect(() => onAnswer((of, text, answer) => of === upgrade && setDraft((before) => withAnswer(before, text, answer))), [upgrade]);
  // Before it is painted.
  useLayoutEffect(() => {
    if (!gone) return;
    set({ is: 'none' });
    if (!upgrade) return;
    const left = withoutUpgrade(draft);
    setDraft(left);
    setKept(isChanged(left));
  }, [gone, upgrade]);
  // A text that is left of an edition does not become one of a later edition, which nobody has seen here.
  const unread = upgrade !== '' && !gone && !isKept && draft.edition === undefined;
  useEffect(() => {
    if (!unread) return undefined;
    const stop = new AbortController();
    setError(undefined);
    api.upgrade(upgrade, stop.signal).then(
      // What was typed meanwhile stays.
      ({ spec, edition }) => setDraft((before) => ({ ...before, edition, original: spec, yaml: before.yaml || spec })),
      (cause) => stop.signal.aborted || setError(cause instanceof ApiError ? cause.message : 'the answer cannot be read'),
    );
    return () => stop.abort();
  }, [upgrade, unread, tries]);

  // What somebody else changes makes the text one that is not written any more.
  const { uid, generation } = app.fleet.upgrades.get(upgrade) ?? {};
  const [present, setPresent] = useState<string | undefined>();
  useEffect(() => {
    setPresent(undefined);
    if (upgrade === '' || gone || draft.edition === undefined) return undefined;
    const stop = new AbortController();
    // Where it cannot be read, applying says what there is to say.
    api.upgrade(upgrade, stop.signal).then(({ edition }) => setPresent(edition), () => undefined);
    return () => stop.abort();
  }, [upgrade, gone, draft.edition, uid, generation]);
  // What is read just after a write may be from before it.
  const seen = useRef(new Set<string>());
  if (draft.edition !== undefined) seen.current.add(draft.edition);
  const isStale = present !== undefined && draft.edition !== undefined && !seen.current.has(present);

  const forecast = async () => {
    const busy: Result = { is: 'busy' };
    // Nobody waits for it any more, if the text was discarded or its upgrade is gone.
    const end = (next: Result) => set((before) => (before === busy ? next : before));
    set(busy);
    try {
      const edits = draft.edition === undefined ? {} : { opened: upgrade };
      const plans = await api.plan({ yaml, ...(compare?.trim() && { compare }), ...edits });
      end({ is: 'done', plans, yaml, compare });
    } catch (cause) {
      end({ is: 'failed', why: cause instanceof ApiError ? cause.message : 'the answer cannot be read' });
    }
  };
  const discard = () => {
    setDraft(EMPTY);
    setKept(false);
    setPresent(undefined);
    set({ is: 'none' });
  };
  // What is read now may have been changed by somebody since it was written: only what was written has been seen here.
  const applied = (text: string) => ({ edition }: Done) => answered(upgrade, text, { original: text, ...(edition !== undefined && { edition }) });
  const sent = (text: string) => (is: boolean) => (is ? change({ sent: text }) : answered(upgrade, text, {}));
  const apply = (text: string, which: Which) => {
    const isSecond = which === 'second';
    const known = result.is === 'done' && (isSecond ? result.compare : result.yaml) === text ? result.plans[isSecond ? 1 : 0] : undefined;
    const opened = draft.edition === undefined ? undefined : { upgrade, edition: draft.edition };
    showDialog((close) => <ApplyDialog yaml={text} which={which} opened={opened} forecast={known} onClose={close} onSent={sent(text)} onDone={applied(text)} />);
  };
  const isEmpty = (text: string) => text.trim() === '';
  const canApply = app.session?.readOnly === false;
  // What was not read of an upgrade would be written over.
  const disabled = gone || app.connection.is !== 'live' || (upgrade !== '' && draft.edition === undefined);
  return (
    <div class="sheet">
      <div class="page-head">
        <h1>Plan</h1>
        <p class="quiet">What would come of an upgrade, before it is applied. A forecast writes nothing.</p>
      </div>
      {gone && upgrade !== '' && (
        <Alert kind="warning" live title={<><Text of={upgrade} limit={127} /> is not there, or you may not see it.</>}>
          {isChanged(draft) && 'What you have written stays; it cannot be applied here.'}
        </Alert>
      )}
      {!gone && unread && error && (
        <Alert kind="danger" title={<>The spec of <Text of={upgrade} limit={127} /> cannot be read.</>}>
          {error} <Button kind="link" small onClick={() => setTries((before) => before + 1)}>Try again</Button>
        </Alert>
      )}
      {isStale && !gone && (
        <Alert kind="warning" live title={<>Somebody has changed <Text of={upgrade} limit={127} /> since this text was opened: it cannot be applied.</>}>
          Keep a copy of your change, and make it in the spec as it is now.{' '}
          <Button kind="link" small onClick={discard}>Discard the text and take the spec as it is now</Button>
        </Alert>
      )}
      {isKept && isChanged(draft) && !isStale && (
        <Alert kind="info" title="This is the text as you left it.">
          {draft.sent !== undefined
            ? 'A text of it was sent to be applied, and no answer has come: see whether that was done before you apply it again.'
            : upgrade !== '' && draft.edition === undefined
              ? 'It was written before the spec could be read, and cannot be applied here.'
              : 'It may differ from what is on the hub.'}{' '}
          <Button kind="link" small onClick={discard}>{upgrade && !gone ? 'Discard it and take the spec as it is now' : 'Discard it'}</Button>
        </Alert>
      )}
      <div class={comparing ? 'editors two' : 'editors'}>
        <Editor label={comparing ? 'First: ManagedClustersUpgrade (YAML)' : 'ManagedClustersUpgrade (YAML)'} value={yaml} onInput={(text) => change({ yaml: text })} placeholder={EXAMPLE} />
        {comparing && <Editor label="Second: another strategy to compare with (YAML)" value={draft.compare} onInput={(text) => change({ compare: text })} placeholder={EXAMPLE} />}
      </div>
      <div class="actions">
        <Button kind="primary" disabled={isEmpty(yaml) || result.is === 'busy'} onClick={forecast}>
          Forecast
        </Button>
        {comparing ? (
          <Button onClick={() => change({ comparing: false })}>Do not compare</Button>
        ) : (
          <Button disabled={isEmpty(yaml)} onClick={() => change({ comparing: true, compare: draft.compare || yaml })}>Compare with another strategy</Button>
        )}
        {canApply && !comparing && <Button disabled={disabled || isEmpty(yaml)} onClick={() => apply(yaml, 'only')}>Apply…</Button>}
        {canApply && comparing && (
          <>
            <Button disabled={disabled || isEmpty(yaml)} onClick={() => apply(yaml, 'first')}>Apply the first…</Button>
            <Button disabled={disabled || isEmpty(draft.compare)} onClick={() => apply(draft.compare, 'second')}>Apply the second…</Button>
          </>
        )}
        {upgrade !== '' && !gone && !isKept && isChanged(draft) && (
          // Somebody else may have changed it since it was opened: then what is written here is refused.
          <Button onClick={discard}>Discard it and take the spec as it is now</Button>
        )}
      </div>
      <div aria-live="polite">
        {result.is === 'busy' && <Spinner label="Simulating the rollout…" />}
        {result.is === 'failed' && <Alert kind="danger" title="There is no forecast."><Text of={result.why} limit={2000} /></Alert>}
        {result.is === 'done' && <Plans plans={result.plans} now={app.clock.now()} changed={isEdited(result, yaml, compare)} />}
      </div>
    </div>
  );
}

/** A text that was not forecast, or is not compared any more, makes no other of the one that was. */
function isEdited(of: { yaml: string; compare: string | undefined }, yaml: string, compare: string | undefined): boolean {
  return of.yaml !== yaml || (of.compare !== undefined && compare !== undefined && of.compare !== compare);
}

function Editor(props: { label: string; value: string; placeholder: string; onInput: (value: string) => void }) {
  const open = async (file: File | undefined) => {
    // The server reads a megabyte; anything larger is another file by mistake.
    if (file && file.size < 1_000_000) props.onInput(await file.text());
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
          {first.key !== second.key && <Alert kind="info" title="The texts are of two upgrades. Each is forecast as if the other were not applied." />}
          <ForecastView forecasts={plans.map((plan) => plan)} now={now} facts={false} />
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
