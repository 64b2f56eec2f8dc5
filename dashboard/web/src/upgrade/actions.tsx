// Pause, resume and retry. Each asks first and says what it will do. Whoever may only read does not see them.

import { useState } from 'preact/hooks';
import { api } from '../api/client';
import type { Upgrade, UpgradeDetail } from '../api/types';
import { ActionDialog } from '../ui/action-dialog';
import { Button, Text } from '../ui/parts';
import { useStatus } from '../ui/use-app';
import { clusters } from '../words/text';

type Asked = 'pause' | 'resume' | 'retry';

export function Actions({ upgrade, failures, onDone }: { upgrade: Upgrade; failures: UpgradeDetail['failures']; onDone: () => void }) {
  const { session } = useStatus();
  const [asked, ask] = useState<Asked | undefined>();
  if (!session || session.readOnly) return null;
  const { counts } = upgrade;
  const close = () => ask(undefined);
  const name = <Text of={upgrade.key} limit={127} />;
  const failed = Math.max(counts.failed, failures.reduce((sum, failure) => sum + failure.clusters.length, 0));
  return (
    <div class="actions">
      {upgrade.paused ? <Button onClick={() => ask('resume')}>Resume…</Button> : <Button onClick={() => ask('pause')}>Pause…</Button>}
      {failed > 0 && <Button onClick={() => ask('retry')}>Retry…</Button>}
      {asked === 'pause' && (
        <ActionDialog title="Pause this upgrade?" action="Pause" send={() => api.pause(upgrade.key)} onClose={close} onDone={onDone}>
          <p>No other cluster of {name} starts until it is resumed.</p>
          <p>
            {counts.inFlight > 0
              ? `${clusters(counts.inFlight)} in flight ${counts.inFlight === 1 ? 'continues' : 'continue'} to ${counts.inFlight === 1 ? 'its' : 'their'} end: a running upgrade cannot be paused.`
              : 'No cluster is in flight now.'}{' '}
            {clusters(counts.notStarted)} will wait.
          </p>
        </ActionDialog>
      )}
      {asked === 'resume' && (
        <ActionDialog title="Resume this upgrade?" action="Resume" send={() => api.resume(upgrade.key)} onClose={close} onDone={onDone}>
          <p>
            Clusters of {name} start again as its strategy allows: {clusters(counts.notStarted)} {counts.notStarted === 1 ? 'waits' : 'wait'}.
          </p>
        </ActionDialog>
      )}
      {asked === 'retry' && (
        <ActionDialog title={`Retry ${clusters(failed)}?`} action="Retry" send={() => api.retry(upgrade.key)} onClose={close} onDone={onDone}>
          <p>
            All clusters of {name} that have failed start over, with the first stage, when it is their turn. Have their causes been fixed? Else they fail
            again.
          </p>
        </ActionDialog>
      )}
    </div>
  );
}

export function RetryButton({ upgrade, cluster, onDone, kind = 'link' }: { upgrade: string; cluster: string; onDone: () => void; kind?: 'link' | 'secondary' }) {
  const { session } = useStatus();
  const [asked, ask] = useState(false);
  if (!session || session.readOnly) return null;
  return (
    <>
      <Button kind={kind} small={kind === 'link'} label={`Retry ${cluster.slice(0, 63)}`} onClick={() => ask(true)}>
        Retry…
      </Button>
      {asked && (
        <ActionDialog title="Retry this cluster?" action="Retry" send={() => api.retry(upgrade, cluster)} onClose={() => ask(false)} onDone={onDone}>
          <p>
            <Text of={cluster} limit={253} /> starts over with the first stage, when it is its turn.
          </p>
        </ActionDialog>
      )}
    </>
  );
}
