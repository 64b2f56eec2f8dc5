// One line for each upgrade: how far it is, what halts it, when it is expected to end.

import { useState } from 'preact/hooks';
import type { Upgrade } from '../api/types';
import { useApp } from '../ui/use-app';
import { Button, Label, Reason, Target, Text } from '../ui/parts';
import { ProgressBar } from '../upgrade/progress-bar';
import { own } from '../words/own';
import { count, percent } from '../words/text';
import { moment } from '../words/time';
import { isComplete, order, passing } from './upgrade-order';

/** More are shown when one asks for them: the cells are what this page is for. */
const SHOWN = 3;

export function UpgradeSummaries() {
  const { fleet } = useApp();
  const [all, showAll] = useState(false);
  const upgrades = [...fleet.upgrades.values()].sort(order);
  if (upgrades.length === 0) return <p class="no-upgrades">No upgrade (ManagedClustersUpgrade) is there.</p>;
  const shown = all ? upgrades : upgrades.slice(0, SHOWN);
  return (
    <section class="summaries" aria-label="Upgrades">
      {shown.map((upgrade) => (
        <Summary key={upgrade.key} upgrade={upgrade} />
      ))}
      {upgrades.length > SHOWN && (
        <Button kind="link" small onClick={() => showAll(!all)}>
          {all ? 'Show fewer upgrades' : `Show all ${upgrades.length} upgrades`}
        </Button>
      )}
    </section>
  );
}

function Summary({ upgrade }: { upgrade: Upgrade }) {
  return (
    <article class="summary">
      <h2>
        <a href={`#/upgrade/${upgrade.key.split('/').map(encodeURIComponent).join('/')}`}>
          <Text of={upgrade.key} limit={127} />
        </a>
        <span class="target">
          to <Target of={upgrade.target} />
        </span>
        <Phase upgrade={upgrade} />
      </h2>
      <ProgressBar counts={upgrade.counts} label={upgrade.key} />
      <p class="figures">
        <Figures upgrade={upgrade} />
      </p>
      {upgrade.notSeen && <p class="halt">Not in force: {upgrade.notSeen}.</p>}
      {upgrade.halt && (
        <p class="halt">
          <Reason reason={upgrade.halt.reason} /> <Text of={upgrade.halt.message} limit={200} />
        </p>
      )}
    </article>
  );
}

const PHASE: Record<string, string> = { NotStarted: 'not started', InProgress: 'in progress', Complete: 'complete', Failed: 'failed', Paused: 'paused', Deleting: 'deleting' };

export function Phase({ upgrade }: { upgrade: Upgrade }) {
  if (upgrade.phase === 'Deleting') return <Label color="grey">{PHASE.Deleting}</Label>;
  if (upgrade.paused) return isComplete(upgrade.counts) ? <Label color="green">complete, paused</Label> : <Label color="orange">paused</Label>;
  if (upgrade.halt) {
    const does = passing(upgrade.halt.reason);
    return <Label color={does ? 'blue' : 'orange'}>{does ?? 'halted'}</Label>;
  }
  if (isComplete(upgrade.counts)) return <Label color="green">complete</Label>;
  if (hasStopped(upgrade)) return <Label color="orange">stopped</Label>;
  if (upgrade.counts.inFlight > 0) return <Label color="blue">in progress</Label>;
  return (
    <Label color={upgrade.phase === 'Failed' ? 'red' : 'grey'}>
      <Text of={own(PHASE, upgrade.phase) ?? upgrade.phase} limit={40} />
    </Label>
  );
}

/** Nothing is under way, and the hub sees no run in which more begins by itself: as kubectl drydock status says it. */
function hasStopped({ counts, forecast }: Upgrade): boolean {
  const isLeft = counts.complete + counts.failed < counts.selected;
  return isLeft && counts.inFlight === 0 && forecast?.stopPercent === 100 && !forecast.p50;
}

function Figures({ upgrade }: { upgrade: Upgrade }) {
  const { counts, forecast } = upgrade;
  const now = useApp().clock.now();
  return (
    <>
      <strong>{count(counts.complete)}</strong> of {count(counts.selected)} complete
      {counts.inFlight > 0 && <>, {count(counts.inFlight)} in flight</>}
      {counts.failed > 0 && <span class="bad">, {count(counts.failed)} failed</span>}
      {counts.other > 0 && <>, {count(counts.other)} other</>}
      {forecast?.p50 && !isComplete(upgrade.counts) && (
        <span class="ends">
          {' '}· ends {moment(forecast.p50, now)}
          {forecast.p90 && <> (p90 {moment(forecast.p90, now)})</>}
        </span>
      )}
      {forecast?.lateAfter && !isComplete(upgrade.counts) && <span class="bad"> · late</span>}
      {forecast?.stopPercent && !isComplete(upgrade.counts) && (
        <span class="ends">
          {' '}· {hasStopped(upgrade) ? 'stopped' : `stops in ${percent(forecast.stopPercent / 100)} of the runs`}
          {forecast.stopReason && (
            <>
              {' '}(<Reason reason={forecast.stopReason} />)
            </>
          )}
        </span>
      )}
    </>
  );
}
