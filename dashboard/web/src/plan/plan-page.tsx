// A ManagedClustersUpgrade before it is applied: its forecast, beside that of another strategy.

import { useEffect, useLayoutEffect, useState } from 'preact/hooks';
import { api, ApiError, type Done } from '../api/client';
import type { Forecast } from '../api/types';
import { showDialog } from '../ui/dialog-host';
import { Alert, Button, Spinner, Text } from '../ui/parts';
import { useStatus } from '../ui/use-app';
import { ApplyDialog, type Which } from './apply-dialog';
import { answered, type Draft, draftOf, EMPTY, isChanged, keepDraft, onAnswer, withAnswer, withoutUpgrade } from './drafts';
import { Editor } from './editor';
import { Notices } from './notices';
import { Plans } from './plans';
import { useIsStale } from './stale';
import { useGone } from '../ui/gone';

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

  const isStale = useIsStale(gone ? '' : upgrade, draft.edition);

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
      <Notices
        upgrade={upgrade}
        draft={draft}
        is={{ gone, stale: isStale, kept: isKept, unread: unread ? error : undefined }}
        onRetry={() => setTries((before) => before + 1)}
        onDiscard={discard}
      />
      <div class={comparing ? 'editors two' : 'editors'}>
        <Editor label={comparing ? 'First: ManagedClustersUpgrade (YAML)' : 'ManagedClustersUpgrade (YAML)'} value={yaml} onInput={(text) => change({ yaml: text })} />
        {comparing && <Editor label="Second: another strategy to compare with (YAML)" value={draft.compare} onInput={(text) => change({ compare: text })} />}
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
