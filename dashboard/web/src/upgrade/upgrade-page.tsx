// One upgrade: how far it is and when it ends, what holds it back, and what one can do about it.

import { useEffect, useRef } from 'preact/hooks';
import { api } from '../api/client';
import type { Upgrade, UpgradeDetail } from '../api/types';
import { isComplete, passing } from '../fleet/upgrade-order';
import { Phase } from '../fleet/upgrade-summaries';
import { Gone, NotCurrent } from '../ui/not-current';
import { Alert, Announced, Button, LongText, Reason, Section, Spinner, Target, Text } from '../ui/parts';
import { type Loaded, useFleet, useLoaded, useStatus, useTick, useUpgradeChanges } from '../ui/use-app';
import { IN_FLIGHT } from '../words/states';
import { clusters, count, printable } from '../words/text';
import { momentAndDistance } from '../words/time';
import { Actions } from './actions';
import { Acceptances, Findings } from './findings';
import { ForecastSection } from './forecast-section';
import { Canaries, Conditions, EventList, Failures, Halts, InFlightTable, Waits } from './lists';
import { ProgressBar } from './progress-bar';

export function UpgradePage({ upgrade: key }: { upgrade: string }) {
  const app = useStatus();
  useFleet();
  useTick(app.clock.tick);
  // The summary that comes with the fleet is newer than the detail, which is asked for again after a change.
  const summary = app.fleet.upgrades.get(key);
  const changes = useUpgradeChanges(key);
  const detail = useLoaded(key, (signal) => api.upgrade(key, signal), changes);
  useNewestEvents(detail, changes);
  // Where the answer is that it is gone, nothing else is shown of it, whatever came before.
  const shown: Upgrade | undefined = detail.refusal ? undefined : (summary ?? detail.value);
  const left = app.fleet.revision !== undefined && summary === undefined;
  const current = app.connection.is === 'live' && !left && detail.error === undefined;
  return (
    <div class="sheet">
      <p class="crumbs">
        <a href="#/fleet">Fleet</a> / Upgrade
      </p>
      <header class="sheet-head">
        <h1>
          <Text of={key} limit={127} />
          {shown && (
            <span class="target">
              to <Target of={shown.target} />
            </span>
          )}
          {shown && <Phase upgrade={shown} />}
        </h1>
        {shown && <Actions upgrade={shown} detail={detail.value} disabled={!current} onDone={detail.reload} />}
      </header>
      {detail.value && (detail.error !== undefined || left) && <NotCurrent loaded={detail} why="The hub does not list this upgrade any more." />}
      <Announced text={shown ? announcement(shown) : ''} />
      {shown && <Progress upgrade={shown} />}
      {detail.refusal ? <Gone what="upgrade" loaded={detail} /> : <Details detail={detail} upgrade={shown} upgradeKey={key} current={current} />}
    </div>
  );
}

/** What of an upgrade somebody wants to hear of without asking: not each cluster that completes. */
function announcement({ counts, halt, paused, phase }: Upgrade): string {
  const halted = halt && halt.reason !== 'Paused' ? `Halted: ${printable(halt.reason, 63)}` : undefined;
  const state = isComplete(counts) ? 'Complete' : (halted ?? (paused ? 'Paused' : printable(phase, 40)));
  return counts.failed > 0 ? `${state}; ${clusters(counts.failed)} failed` : state;
}

/** For how long the server shows others the Events that it has read, and how long after a change they have all come, in milliseconds. */
const EVENTS_LAST = 10_000;
const EVENTS_COME = 5000;

/** Reads once more where the Events may lack what the last change has brought. */
function useNewestEvents(detail: Loaded<UpgradeDetail>, changes: number): void {
  const changed = useRef(0);
  // What was shown to others may lack what has happened until now.
  useEffect(() => {
    changed.current = performance.now();
  }, [changes]);
  useEffect(() => {
    if (!detail.value) return undefined;
    const age = detail.value.eventsAge * 1000;
    if (performance.now() - age > changed.current + EVENTS_COME) return undefined;
    const timer = setTimeout(detail.reload, Math.max(0, EVENTS_LAST - age));
    return () => clearTimeout(timer);
  }, [detail.value]);
}

function Progress({ upgrade }: { upgrade: Upgrade }) {
  const { counts } = upgrade;
  const only = (state: string) => `#/fleet?${new URLSearchParams({ upgrade: upgrade.key, state })}`;
  return (
    <div class="card progress-card">
      <ProgressBar counts={counts} label={upgrade.key} />
      <ul class="counts">
        <Figure value={counts.selected} label="selected" href={`#/fleet?${new URLSearchParams({ upgrade: upgrade.key })}`} />
        <Figure value={counts.complete} label="complete" href={only('Complete')} />
        <Figure value={counts.inFlight} label="in flight" href={only(IN_FLIGHT)} />
        <Figure value={counts.notStarted} label="not started" href={only('NotStarted')} />
        <Figure value={counts.failed} label="failed" href={only('Failed')} bad={counts.failed > 0} />
        {counts.other > 0 && <Figure value={counts.other} label="other" />}
      </ul>
      {upgrade.notSeen && (
        <Alert kind="warning" title={`Not in force: ${upgrade.notSeen}.`}>
          What is shown of it is what a hub would do. If this stays, <code>kubectl -n drydock get pods,lease</code> shows whether one runs.
        </Alert>
      )}
      {upgrade.halt ? (
        <Alert kind={passing(upgrade.halt.reason) ? 'info' : 'warning'} title={<Reason reason={upgrade.halt.reason} />}>
          <LongText of={upgrade.halt.message} />
        </Alert>
      ) : (
        upgrade.message && (
          <p class="quiet">
            <LongText of={upgrade.message} />
          </p>
        )
      )}
    </div>
  );
}

function Figure({ value, label, href, bad }: { value: number; label: string; href?: string; bad?: boolean }) {
  const content = (
    <>
      <strong class={bad ? 'bad' : ''}>{count(value)}</strong> {label}
    </>
  );
  return <li>{href && value > 0 ? <a href={href}>{content}</a> : <span>{content}</span>}</li>;
}

function Details({ detail, upgrade, upgradeKey, current }: { detail: Loaded<UpgradeDetail>; upgrade: Upgrade | undefined; upgradeKey: string; current: boolean }) {
  const app = useStatus();
  const now = app.clock.now();
  if (!detail.value) {
    if (detail.loading) return <Spinner label="Loading the upgrade…" />;
    return (
      <Alert kind="danger" title="The upgrade cannot be shown.">
        {detail.error} <Button kind="link" small onClick={detail.reload}>Try again</Button>
      </Alert>
    );
  }
  const value = detail.value;
  const canAccept = app.session?.readOnly === false;
  const halt = (upgrade ?? value).halt;
  return (
    <div class="sections">
      {value.unread.length > 0 && (
        <Alert kind="warning" title="Not all of it could be read.">
          {value.unread.map((why) => (
            <p key={why}>
              <LongText of={why} />
            </p>
          ))}
          <Button kind="link" small onClick={detail.reload}>Try again</Button>
        </Alert>
      )}
      <Section title="When it ends" wide>
        <ForecastSection upgrade={upgrade ?? value} ended={value.ended} now={now} />
      </Section>
      <Section title="What holds it back" note={value.waits.length || halt ? undefined : 'nothing'}>
        {halt && (
          <p>
            <Reason reason={halt.reason} />: <LongText of={halt.message} />
          </p>
        )}
        <Waits waits={value.waits} upgrade={upgradeKey} />
      </Section>
      <Section title="Failures" note={value.failures.length ? clusters(value.counts.failed) : 'none'}>
        <Failures failures={value.failures} upgrade={value} disabled={!current} onDone={detail.reload} />
      </Section>
      <Section title="In flight" note={count(value.inFlight.length)} wide>
        <InFlightTable rows={value.inFlight} now={now} />
      </Section>
      <Section title="Canaries" note={value.soakUntil && value.soakUntil > now ? `soak until ${momentAndDistance(value.soakUntil, now)}` : value.canaries.length ? undefined : 'none'}>
        <Canaries canaries={value.canaries} />
      </Section>
      <Section title="Halts" note={value.halts.length ? undefined : 'none'}>
        <Halts halts={value.halts} now={now} />
      </Section>
      <Section title="Findings" note={value.findings.length ? undefined : 'none'} wide>
        <Findings findings={value.findings} upgrade={upgradeKey} target={value.target} mode={value.preChecks} canAccept={canAccept} disabled={!current} onDone={detail.reload} />
        <Acceptances acceptances={value.acceptances} now={now} />
      </Section>
      <Section title="Conditions" wide>
        <Conditions conditions={value.conditions} now={now} />
      </Section>
      <Section title="Events" note={value.events.length ? undefined : 'none'} wide>
        <EventList events={value.events} now={now} />
      </Section>
      <Section title="Spec" wide>
        <p>
          <a href={`#/plan?${new URLSearchParams({ upgrade: upgradeKey })}`}>Edit it and compare forecasts</a>
        </p>
        <details>
          <summary>Show as YAML</summary>
          <pre class="yaml" tabIndex={0}>
            {value.spec}
          </pre>
        </details>
      </Section>
    </div>
  );
}
