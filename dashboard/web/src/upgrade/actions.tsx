// Pause, resume and retry. Each asks first and says what it will do. Whoever may only read does not see them.

import { api, type Meant } from '../api/client';
import type { Upgrade, UpgradeDetail } from '../api/types';
import { hasEnded } from '../fleet/upgrade-order';
import { showDialog } from '../ui/dialog-host';
import { Alert, Button, LongText, Target, Text } from '../ui/parts';
import { useFleet, useStatus } from '../ui/use-app';
import { clusters, printable } from '../words/text';
import { UpgradeDialog } from './upgrade-dialog';

/** `disabled`: what the page shows is not current, and nobody should act on it. Which clusters have failed is in the detail, which may be on its way. */
export function Actions(props: { upgrade: Upgrade; detail: UpgradeDetail | undefined; disabled: boolean; onDone: () => void }) {
  const { upgrade, detail, disabled, onDone } = props;
  const { session } = useStatus();
  if (!session || session.readOnly || upgrade.phase === 'Deleting') return null;
  const failed = detail?.failures.reduce((sum, failure) => sum + failure.clusters.length, 0) ?? 0;
  return (
    <div class="actions">
      {upgrade.paused ? (
        <Button disabled={disabled} onClick={() => askResume(upgrade, onDone)}>Resume…</Button>
      ) : (
        // Where nothing is left to start, there is nothing to pause.
        !hasEnded(upgrade.counts) && <Button disabled={disabled} onClick={() => askPause(upgrade, onDone)}>Pause…</Button>
      )}
      {detail && failed > 0 && (
        <Button disabled={disabled} onClick={() => askRetry(upgrade, { count: failed, set: detail.failedSet }, onDone)}>
          Retry…
        </Button>
      )}
    </div>
  );
}

/** Of what clusters start by, nothing else than what is shown when somebody is asked. */
function meant({ uid, generation }: Upgrade): Meant {
  return { uid, generation };
}

/** How it stands with an upgrade, while somebody reads on. */
function useCounts(upgrade: Upgrade): Upgrade['counts'] {
  const { fleet } = useStatus();
  useFleet();
  return (fleet.upgrades.get(upgrade.key) ?? upgrade).counts;
}

function WhoWaits({ upgrade }: { upgrade: Upgrade }) {
  const { inFlight, notStarted } = useCounts(upgrade);
  const running =
    inFlight === 0
      ? 'No cluster is in flight now.'
      : `${clusters(inFlight)} in flight ${inFlight === 1 ? 'continues to its' : 'continue to their'} end: a running upgrade cannot be paused.`;
  return (
    <p>
      {running} {notStarted === 0 ? 'None is left to start: those that are selected from now on will wait.' : `${clusters(notStarted)} will wait.`}
    </p>
  );
}

function WhoWaited({ upgrade }: { upgrade: Upgrade }) {
  const { notStarted } = useCounts(upgrade);
  return (
    <>
      {clusters(notStarted)} {notStarted === 1 ? 'waits' : 'wait'}
    </>
  );
}

/** What has failed may keep everything from starting, which a pause hides. */
function WhoFailed({ upgrade }: { upgrade: Upgrade }) {
  const { failed } = useCounts(upgrade);
  if (failed === 0) return null;
  return (
    <p>
      {clusters(failed)} {failed === 1 ? 'has' : 'have'} failed: nothing starts before a retry, if that is a canary, or more than <code>maxFailures</code> allows.
    </p>
  );
}

/** When what starts over does so. */
function Turn({ upgrade, several }: { upgrade: string; several?: boolean }) {
  const { fleet } = useStatus();
  useFleet();
  return <>{fleet.upgrades.get(upgrade)?.paused ? 'once the upgrade is resumed: it is paused' : several ? 'when it is their turn' : 'when it is its turn'}</>;
}

/** A retry can end a halt: others may start by that before what is retried. */
function WhoElse({ upgrade }: { upgrade: string }) {
  const { fleet } = useStatus();
  useFleet();
  const reason = fleet.upgrades.get(upgrade)?.halt?.reason ?? '';
  if (reason !== 'CanaryFailed' && reason !== 'FailureBudgetSpent') return null;
  return (
    <p>
      The upgrade is halted ({reason}), which this may end: then clusters that have not been tried start as well, and may come first.
    </p>
  );
}

/** What is asked is about what was shown: nothing is written if somebody else has changed it since. */
function ChangedMeanwhile({ upgrade, was }: { upgrade: string; was: Meant }) {
  const { fleet } = useStatus();
  useFleet();
  const now = fleet.upgrades.get(upgrade);
  if (!now || (now.uid === was.uid && now.generation === was.generation)) return null;
  return <Alert kind="warning" title="Somebody has changed this upgrade meanwhile: nothing will be done. Close this, and look at it again." />;
}

/** Somebody else may have paused it since the question was opened. */
function PausedMeanwhile({ upgrade }: { upgrade: string }) {
  const { fleet } = useStatus();
  useFleet();
  return fleet.upgrades.get(upgrade)?.paused ? <Alert kind="info" title="Somebody has paused it meanwhile." /> : null;
}

function askPause(upgrade: Upgrade, onDone: () => void): void {
  showDialog((close) => (
    <UpgradeDialog upgrade={upgrade.key} title="Pause this upgrade?" action="Pause" send={() => api.pause(upgrade.key, upgrade.uid)} onClose={close} onDone={onDone}>
      <p>
        No other cluster of <Text of={upgrade.key} limit={127} /> starts until it is resumed.
      </p>
      <PausedMeanwhile upgrade={upgrade.key} />
      <WhoWaits upgrade={upgrade} />
    </UpgradeDialog>
  ));
}

function askResume(upgrade: Upgrade, onDone: () => void): void {
  showDialog((close) => (
    <UpgradeDialog upgrade={upgrade.key} title="Resume this upgrade?" action="Resume" send={() => api.resume(upgrade.key, meant(upgrade))} onClose={close} onDone={onDone}>
      <p>
        Clusters of <Text of={upgrade.key} limit={127} /> start again to <Target of={upgrade.target} />, as its strategy allows: <WhoWaited upgrade={upgrade} />.
      </p>
      <WhoFailed upgrade={upgrade} />
      <ChangedMeanwhile upgrade={upgrade.key} was={meant(upgrade)} />
    </UpgradeDialog>
  ));
}

function askRetry(upgrade: Upgrade, failed: { count: number; set: string }, onDone: () => void): void {
  const send = () => api.retry(upgrade.key, { ...meant(upgrade), failed: failed.set });
  showDialog((close) => (
    <UpgradeDialog upgrade={upgrade.key} title={`Retry ${clusters(failed.count)}?`} action="Retry" send={send} onClose={close} onDone={onDone}>
      <p>
        All clusters of <Text of={upgrade.key} limit={127} /> that have failed start over{upgrade.target !== '' && <> to <Target of={upgrade.target} /></>}, <Turn upgrade={upgrade.key} several />. Each begins with the first stage, or goes on from where it has come
        to since; one that may not start, for findings or otherwise, waits until it may. Have their causes been fixed? Else they fail again.
      </p>
      <ChangedMeanwhile upgrade={upgrade.key} was={meant(upgrade)} />
      <WhoElse upgrade={upgrade.key} />
    </UpgradeDialog>
  ));
}

export function RetryButton(props: { upgrade: string; cluster: string; failure: string; disabled: boolean; onDone: () => void; kind?: 'link' | 'secondary' }) {
  const { upgrade, cluster, failure, onDone, kind = 'link' } = props;
  const { session, fleet } = useStatus();
  if (!session || session.readOnly) return null;
  const ask = () => {
    const { uid, generation, target = '' } = fleet.upgrades.get(upgrade) ?? {};
    const send = () => api.retry(upgrade, { uid, generation, cluster });
    showDialog((close) => (
      <UpgradeDialog upgrade={upgrade} title="Retry this cluster?" action="Retry" send={send} onClose={close} onDone={onDone}>
        <p>
          <Text of={cluster} limit={253} /> starts over{target !== '' && <> to <Target of={target} /></>}, <Turn upgrade={upgrade} />. It begins with the first stage, or goes on from where it has come to
          since; if it may not start, for findings or otherwise, it waits until it may. Has the cause been fixed? Else it fails again.
        </p>
        <p class="quiet">
          It failed: <LongText of={failure} />
        </p>
        <ChangedMeanwhile upgrade={upgrade} was={{ uid, generation }} />
        <WhoElse upgrade={upgrade} />
      </UpgradeDialog>
    ));
  };
  return (
    <Button kind={kind} small={kind === 'link'} disabled={props.disabled} label={`Retry ${printable(cluster, 63)}`} onClick={ask}>
      Retry…
    </Button>
  );
}
