// Says what applying a text does, as the server has tried it, before it is applied.

import { useEffect, useState } from 'preact/hooks';
import { api, ApiError, type Change, type Done, type Preview, type Writing } from '../api/client';
import type { Forecast } from '../api/types';
import { ActionDialog, isUnknown } from '../ui/action-dialog';
import { Alert, Reason, Spinner, Text } from '../ui/parts';
import { useGone } from '../ui/gone';
import { useFleet, useStatus } from '../ui/use-app';
import { clusters, count, percents } from '../words/text';
import { pastMoment } from '../words/time';

/** Which of two texts; `only` if there is one. */
export type Which = 'only' | 'first' | 'second';

const TITLE: Record<Which, string> = { only: 'Apply this upgrade?', first: 'Apply the first text?', second: 'Apply the second text?' };

interface Asked {
  yaml: string;
  which: Which;
  /** The upgrade that was opened to be edited, where one was. */
  opened: Writing['opened'];
  /** The forecast of this very text, if there is one. */
  forecast: Forecast | undefined;
  onClose: () => void;
  /** It is sent to be applied, or has been refused. */
  onSent: (sent: boolean) => void;
  onDone: (done: Done) => void;
}

type Tried = { is: 'busy' } | { is: 'refused'; why: string; ofOthers: boolean } | { is: 'known'; preview: Preview; /** The upgrade that it shows, where that is listed. */ listed: string | undefined };

export function ApplyDialog({ yaml, which, opened, forecast: made, onClose, onSent, onDone }: Asked) {
  const { fleet, clock } = useStatus();
  const [takeOver, setTakeOver] = useState(false);
  const [ofOthers, setOfOthers] = useState(false);
  const [tried, setTried] = useState<Tried>({ is: 'busy' });
  const writing: Writing = { yaml, opened, takeOver };
  useEffect(() => {
    const stop = new AbortController();
    setTried({ is: 'busy' });
    api.preview(writing, stop.signal).then(
      (preview) => setTried({ is: 'known', preview, listed: fleet.upgrades.has(preview.key) ? preview.key : undefined }),
      (cause) => {
        if (stop.signal.aborted) return;
        const refused = refusal(cause);
        setTried(refused);
        if (refused.ofOthers) setOfOthers(true);
      },
    );
    return () => stop.abort();
  }, [takeOver]);
  const openedIsGone = useGone(opened?.upgrade);
  const shownIsGone = useGone(tried.is === 'known' ? tried.listed : undefined);
  const gone = openedIsGone || shownIsGone;
  const preview = tried.is === 'known' ? tried.preview : undefined;
  // Of what is written, and of nothing else.
  const forecast = preview && made?.key !== preview.key ? undefined : made;
  const stop = forecast?.stops[0];
  const of = forecast?.computedAt === undefined ? 'its forecast' : `its forecast of ${pastMoment(forecast.computedAt, clock.now())}`;
  const send = async () => {
    onSent(true);
    try {
      return await api.apply({ ...writing, seen: preview?.seen ?? '' });
    } catch (cause) {
      if (!isUnknown(cause)) onSent(false);
      throw cause;
    }
  };
  return (
    <ActionDialog title={TITLE[which]} action="Apply" disabled={!preview || preview.more > 0} gone={gone} send={send} onClose={onClose} onDone={onDone}>
      {which === 'first' && <p>Of the two texts it is the first one, on the left or above.</p>}
      {which === 'second' && <p>Of the two texts it is the second one, on the right or below, with which the first is compared.</p>}
      <div aria-live="polite">
        {tried.is === 'busy' && <Spinner label="Trying it on the hub…" />}
        {tried.is === 'refused' && (
          <Alert kind="danger" title="It cannot be applied.">
            <Text of={tried.why} limit={1000} />
          </Alert>
        )}
        {preview && <What preview={preview} />}
        {preview?.invalid !== undefined && (
          <Alert kind="danger" title="Its spec is invalid: nothing starts by it.">
            <Text of={preview.invalid} limit={1000} />
          </Alert>
        )}
        {preview?.staysPaused && (
          <Alert kind="warning" title="It stays paused." >
            The text does not say whether it is: a pause by hand stays until somebody resumes it, or applies <code>paused: false</code>.
          </Alert>
        )}
      </div>
      {preview && <How preview={preview} />}
      {preview && preview.more > 0 && (
        <Alert kind="danger" title="It cannot be applied here.">
          {count(preview.more)} of the fields that become different are not shown, and nothing is applied that nobody can have seen: use{' '}
          <code>kubectl apply --server-side</code>, or a smaller text.
        </Alert>
      )}
      {ofOthers && (
        <label class="field">
          <span>
            <input type="checkbox" checked={takeOver} onChange={(event) => setTakeOver(event.currentTarget.checked)} /> Take over these fields: who wrote
            them before may write them back.
          </span>
        </label>
      )}
      {forecast?.clusters !== undefined && <p>By {of} {forecast.clusters === 1 ? '1 cluster takes' : `${clusters(forecast.clusters)} take`} part in it.</p>}
      {forecast && forecast.shared.length > 0 && (
        <Alert kind="warning" title="It takes clusters from other upgrades.">
          {forecast.shared.map((sentence) => (
            <p key={sentence}>
              <Text of={sentence} limit={500} />.
            </p>
          ))}
        </Alert>
      )}
      {stop && (
        <p>
          By {of} it stops in {percents(forecast.stops.map(({ share }) => share))[0]} of the runs: <Reason reason={stop.cause} />.
        </p>
      )}
      {!forecast && <Alert kind="warning" title="There is no forecast of it as it is now." />}
    </ActionDialog>
  );
}

function refusal(cause: unknown): Tried & { is: 'refused' } {
  if (!(cause instanceof ApiError)) return { is: 'refused', why: 'the answer cannot be read', ofOthers: false };
  const why = cause.status === 403 ? `You may not do this: ${cause.message}` : cause.message;
  return { is: 'refused', why, ofOthers: cause.reason === 'FieldsOfOthers' };
}

function What({ preview }: { preview: Preview }) {
  const { key, target, targetBefore, allOperators } = preview;
  const isNew = targetBefore === undefined;
  const changesTarget = !isNew && target !== targetBefore;
  return (
    <p>
      {isNew ? 'It creates ' : 'It changes '}
      <strong>
        <Text of={key} limit={320} />
      </strong>
      {isNew && target !== '' && <> to <Text of={target} limit={1500} /></>}
      {isNew ? ': no upgrade of this name is there.' : <AsItIs upgrade={key} />}{' '}
      {!isNew && !changesTarget && (target === '' ? 'It has no target.' : <>Its target stays <Text of={target} limit={1500} />.</>)}
      {changesTarget && (
        <>
          Its target is {targetBefore === '' ? 'none' : <Text of={targetBefore} limit={1500} />} now, and becomes{' '}
          {target === '' ? 'none' : <Text of={target} limit={1500} />}.
          {target !== '' &&
            targetBefore !== '' &&
            ' Clusters that are in flight go on to the target that they started with. Then they start over, as do those that are complete, unless they run the new one or a newer version; canaries go first, and soak anew.'}
        </>
      )}
      {allOperators && ' It approves the upgrades of all operators on its clusters.'}
    </p>
  );
}

/** Each field that becomes different, and how it is written: too much to be read out at once. */
function How({ preview: { edits, targetBefore, changes, more, invalid } }: { preview: Preview }) {
  const isNew = targetBefore === undefined;
  return (
    <>
      <Differences title={isNew ? 'What it says' : 'What becomes different'} changes={changes} more={more} />
      <p>
        It is written to the hub with your own rights, as <code>{edits ? 'kubectl edit' : 'kubectl apply --server-side'}</code> does.{' '}
        {edits
          ? 'Spec and labels become those of the text; a tool that keeps them elsewhere, such as Argo CD, may write them back.'
          : !isNew && 'What was applied before with this page or the plugin, and is not in the text, is taken out; what others have set stays, and what was edited by hand.'}{' '}
        {invalid === undefined && 'Unless it is paused, its clusters start as its strategy allows: the first at once, if nothing holds them back.'}
      </p>
    </>
  );
}

/** How far an upgrade is that the page shows. */
function AsItIs({ upgrade }: { upgrade: string }) {
  const app = useStatus();
  useFleet();
  const there = app.fleet.upgrades.get(upgrade);
  if (!there || app.connection.is !== 'live') return <>, which is there.</>;
  const { counts } = there;
  return (
    <>
      , which is there{there.paused && ', paused'}, with {count(counts.complete)} of {clusters(counts.selected)} complete and {count(counts.inFlight)} in
      flight.
    </>
  );
}

function Differences({ title, changes, more }: { title: string; changes: Change[]; more: number }) {
  if (changes.length === 0) return <p>Nothing of it becomes different.</p>;
  return (
    <table class="changes">
      <caption>{title}</caption>
      <thead>
        <tr>
          <th scope="col">Field</th>
          <th scope="col">Now</th>
          <th scope="col">Then</th>
        </tr>
      </thead>
      <tbody>
        {changes.map(({ field, before, after }, i) => (
          <tr key={i}>
            <th scope="row">
              <Text of={field} limit={2200} />
            </th>
            <td>{before === undefined ? <Absent /> : <Text of={before} limit={2200} />}</td>
            <td>{after === undefined ? <Absent /> : <Text of={after} limit={2200} />}</td>
          </tr>
        ))}
        {more > 0 && (
          <tr>
            <td colSpan={3}>and {count(more)} more, which are not shown</td>
          </tr>
        )}
      </tbody>
    </table>
  );
}

function Absent() {
  return <span class="quiet">not set</span>;
}
