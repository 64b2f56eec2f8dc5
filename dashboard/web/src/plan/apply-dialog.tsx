// Says what applying a text does, as far as the page knows it: which upgrade it is, and whether that is there already.

import { useRef, useState } from 'preact/hooks';
import { api, ApiError, type Done } from '../api/client';
import type { Upgrade } from '../api/types';
import { ActionDialog } from '../ui/action-dialog';
import { Alert, Text } from '../ui/parts';
import { useFleet, useStatus } from '../ui/use-app';
import { type Manifest, readManifest } from '../words/manifest';
import { clusters, count } from '../words/text';

/** Which of two texts; `only` if there is one. */
export type Which = 'only' | 'first' | 'second';

const TITLE: Record<Which, string> = { only: 'Apply this upgrade?', first: 'Apply the first text?', second: 'Apply the second text?' };

interface Asked {
  yaml: string;
  which: Which;
  /** The edition that somebody has edited: what came since is not written over. */
  edited: string | undefined;
  /** What was opened, where it is edited. */
  original: string | undefined;
  /** Whether there is a forecast of this very text. */
  forecast: boolean;
  onClose: () => void;
  onDone: (done: Done) => void;
}

export function ApplyDialog({ yaml, which, edited, original, forecast, onClose, onDone }: Asked) {
  const manifest = readManifest(yaml);
  const shown = manifest && { name: manifest.name, namespace: manifest.namespace, target: manifest.target, allOperators: manifest.allOperators };
  const [ofOthers, setOfOthers] = useState(false);
  const [takeOver, setTakeOver] = useState(false);
  const send = async () => {
    try {
      return await api.apply(edited === undefined ? { yaml, shown, takeOver } : { yaml, shown, edition: edited });
    } catch (cause) {
      if (cause instanceof ApiError && cause.reason === 'FieldsOfOthers') setOfOthers(true);
      throw cause;
    }
  };
  return (
    <ActionDialog title={TITLE[which]} action="Apply" disabled={ofOthers && !takeOver} send={send} onClose={onClose} onDone={onDone}>
      {which === 'first' && <p>Of the two texts it is the first one, on the left or above.</p>}
      {which === 'second' && <p>Of the two texts it is the second one, on the right or below, with which the first is compared.</p>}
      {manifest ? (
        <What manifest={manifest} before={original === undefined ? undefined : readManifest(original)?.target} />
      ) : (
        <Alert kind="warning" title="The page cannot read which upgrade this text is.">
          The server reads it, and creates or changes the one that it names. To see here what it does, write metadata.name and metadata.namespace one a line.
        </Alert>
      )}
      <p>
        It is written to the hub with your own rights, as <code>{edited === undefined ? 'kubectl apply --server-side' : 'kubectl edit'}</code> does.{' '}
        {edited === undefined
          ? 'What was applied before with this page or the plugin, and is not in the text, is taken out; what others have set stays.'
          : 'Spec and labels become those of the text; a tool that keeps them elsewhere, such as Argo CD, may write them back.'}{' '}
        Unless it is paused, its clusters start as its strategy allows: at once, if nothing holds them back.
      </p>
      {ofOthers && (
        <label class="field">
          <span>
            <input type="checkbox" checked={takeOver} onChange={(event) => setTakeOver(event.currentTarget.checked)} /> Take over the fields that others
            manage: who wrote them before may write them back.
          </span>
        </label>
      )}
      {!forecast && <Alert kind="warning" title="There is no forecast of it as it is now." />}
    </ActionDialog>
  );
}

/** `before`: the target of what was opened, as a text has it. */
function What({ manifest, before }: { manifest: Manifest; before: string | undefined }) {
  const app = useStatus();
  useFleet();
  const wasThere = useRef(false);
  const { name, namespace, target, allOperators } = manifest;
  const to = target === '' ? null : <> to <Text of={target} limit={1500} /></>;
  const operators = allOperators && ' It approves the upgrades of all operators on its clusters.';
  if (namespace === undefined) {
    return (
      <p>
        It creates or changes the upgrade <Key of={name} />{to}, in the namespace that is the default of this page: the text names none.
        {operators}
      </p>
    );
  }
  const key = `${namespace}/${name}`;
  const there = app.fleet.upgrades.get(key);
  if (there) wasThere.current = true;
  if (app.connection.is !== 'live') {
    return (
      <p>
        It creates or changes <Key of={key} />{to}: whether that is there is not known, for the page is not connected.{operators}
      </p>
    );
  }
  if (there) return <Changes upgrade={there} before={before} target={target} operators={operators} />;
  return (
    <p>
      It creates <Key of={key} />{to}:{' '}
      {wasThere.current ? 'the upgrade of this name has just been deleted, and it is made anew.' : 'no upgrade of this name is among those that the page shows.'}
      {operators}
    </p>
  );
}

/** The fleet calls a target by its version alone: whether all of it is as before is known of what was opened. */
function Changes({ upgrade, before, target, operators }: { upgrade: Upgrade; before: string | undefined; target: string; operators: string | false }) {
  const { counts } = upgrade;
  const now = <Text of={before || upgrade.target} limit={1500} />;
  return (
    <p>
      It changes <Key of={upgrade.key} />, which is there{upgrade.paused && ', paused'}, with {count(counts.complete)} of {clusters(counts.selected)} complete
      and {count(counts.inFlight)} in flight.{' '}
      {upgrade.paused && 'Unless the text says spec.paused, it may be paused no longer. '}
      {target === '' ? (
        <>Its target is {now} now; the text names none, and takes it out if it was written with this page or the plugin.</>
      ) : target === (before ?? upgrade.target) ? (
        <>Its target is {now}, as before.</>
      ) : (
        <>
          Its target is {now} now{before === undefined ? '; the text asks for' : ', and becomes'} <Text of={target} limit={1500} />.
        </>
      )}
      {operators}
    </p>
  );
}

function Key({ of }: { of: string }) {
  return (
    <strong>
      <Text of={of} limit={320} />
    </strong>
  );
}
