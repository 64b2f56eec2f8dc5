// One cluster: what it runs and waits for, its upgrades, findings and past.

import { useMemo } from 'preact/hooks';
import { api } from '../api/client';
import type { ClusterDetail, Schedule, Upgrade } from '../api/types';
import { HistoryTable } from '../history/history-table';
import type { ClusterRow } from '../store/columns';
import { Gone, NotCurrent } from '../ui/not-current';
import { Alert, Announced, Button, Label, LevelLabel, LongText, Reason, Section, Spinner, StateLabel, Text, UpgradeLink } from '../ui/parts';
import { Table } from '../ui/table';
import { useFleet, useLoaded, useStatus, useTick } from '../ui/use-app';
import { sentence } from '../words/sentence';
import { printable, TODO } from '../words/text';
import { moment, momentAndDistance, pastMoment } from '../words/time';
import { RetryButton } from '../upgrade/actions';
import { named } from '../upgrade/findings';

export function ClusterPage({ name }: { name: string }) {
  const app = useStatus();
  useFleet();
  useTick(app.clock.tick);
  const table = app.fleet.clusters;
  const row = table.find(name);
  const cluster = row < 0 ? undefined : table.read(row);
  // What the fleet says of it, and which upgrades there are; when that differs, the rest is asked for again.
  const upgrades = [...app.fleet.upgrades.values()].map(({ key, uid, target, phase, paused }) => [key, uid, target, phase, paused]);
  const renew = cluster && JSON.stringify([{ ...cluster, row: 0 }, upgrades]);
  const detail = useLoaded(`cluster ${name}`, (signal) => api.cluster(name, signal), renew);
  const left = app.fleet.revision !== undefined && cluster === undefined;
  const current = app.connection.is === 'live' && !left && detail.error === undefined;
  if (detail.refusal) {
    return (
      <div class="sheet">
        <Crumbs />
        <header class="sheet-head">
          <h1>
            <Text of={name} limit={253} />
          </h1>
        </header>
        <Gone what="cluster" loaded={detail} />
      </div>
    );
  }
  return (
    <div class="sheet">
      <Crumbs />
      <header class="sheet-head">
        <h1>
          <Text of={name} limit={253} />
          {cluster && <StateLabel state={cluster.state} />}
          {(cluster ? cluster.available === 0 : detail.value?.available === false) && <Label color="orange">not available</Label>}
        </h1>
        {cluster?.state === 'Failed' && <RetryButton kind="secondary" upgrade={cluster.upgrade} cluster={name} failure={cluster.message} disabled={!current} onDone={detail.reload} />}
      </header>
      {detail.value && (detail.error !== undefined || left) && <NotCurrent loaded={detail} why="The fleet does not show this cluster any more." />}
      <Announced text={cluster ? [cluster.state, cluster.reason].filter(Boolean).map((word) => printable(word, 63)).join(': ') : ''} />
      {cluster && <Now cluster={cluster} now={app.clock.now()} />}
      {detail.value ? (
        <Details detail={detail.value} now={app.clock.now()} />
      ) : detail.loading ? (
        <Spinner label="Loading the cluster…" />
      ) : (
        <Alert kind="danger" title="The cluster cannot be shown.">
          {detail.error} <Button kind="link" small onClick={detail.reload}>Try again</Button>
        </Alert>
      )}
    </div>
  );
}

function Crumbs() {
  return (
    <p class="crumbs">
      <a href="#/fleet">Fleet</a> / Cluster
    </p>
  );
}

function Now({ cluster, now }: { cluster: ClusterRow; now: number }) {
  const said = sentence(cluster, now);
  return (
    <div class="card">
      <p>
        <LongText of={cluster.state ? cluster.message || said.what : said.what} />
      </p>
      {said.when && <p class={said.late ? 'late' : 'quiet'}>{said.when}</p>}
      <p>
        <strong>What to do:</strong> <Text of={said.todo} limit={TODO} />
      </p>
      <p class="quiet">
        Runs <Text of={cluster.version || 'a version that is not known'} limit={63} />
        {cluster.reason && (
          <>
            {' · '}
            <Reason reason={cluster.reason} />
          </>
        )}
        {cluster.upgrade && (
          <>
            {' · '}
            <UpgradeLink of={cluster.upgrade} />
          </>
        )}
        {cluster.canary === 1 && ' · canary'}
      </p>
    </div>
  );
}

/** Reasons for which a cluster waits that windows and freezes and slots account for. */
const BY_SCHEDULE = new Set(['AwaitingStartWindow', 'Frozen', 'WaitingForSlot', 'ReadyToStart', 'Starting']);

/** When one of the upgrades that wait for it may start it; one that waits for something else says for what. */
function ScheduleOf({ one, schedule, upgrade, now }: { one: ClusterDetail['upgrades'][number]; schedule: Schedule; upgrade: Upgrade | undefined; now: number }) {
  if (isHeld(upgrade) || NEVER.has(one.reason)) {
    return (
      <p>
        <UpgradeLink of={one.key} /> does not start it {isHeld(upgrade) ? 'before it goes on' : 'as things are'}: <Reason reason={upgrade?.paused ? 'Paused' : (isHeld(upgrade) && upgrade?.halt?.reason) || one.reason} />.
      </p>
    );
  }
  // What is open now is too short for it, and so may the next ones be.
  if (one.reason === 'DoesNotFit') {
    return (
      <p>
        <UpgradeLink of={one.key} /> starts it when it fits into a start window: <LongText of={one.message} />
      </p>
    );
  }
  const isBySchedule = BY_SCHEDULE.has(one.reason);
  return (
    <>
      {schedule.frozen && (
        <p>
          Frozen now: <LongText of={schedule.frozen} />
        </p>
      )}
      <p>
        <UpgradeLink of={one.key} />{' '}
        {!isBySchedule && <>waits for something else first (<Reason reason={one.reason} />); it </>}
        may start it, as far as windows and freezes are concerned{schedule.spans.length === 0 ? ', at no time that is known.' : ':'}
      </p>
      <ul class="facts">
        {schedule.spans.map((span) => (
          <li key={span.opens}>
            {span.opens <= now ? 'now' : momentAndDistance(span.opens, now)}
            {span.closes ? `, until ${moment(span.closes, now)}` : ', without an end'}
          </li>
        ))}
      </ul>
    </>
  );
}

/** Reasons for which an upgrade never starts a cluster, unless something else changes. */
const NEVER = new Set(['OwnedByAnotherUpgrade', 'NeverFits']);

/** Whether nothing starts before somebody has done something. */
function isHeld(upgrade: Upgrade | undefined): boolean {
  return upgrade !== undefined && (upgrade.paused || HALTS.has(upgrade.halt?.reason ?? ''));
}

/** Halts that do not end by themselves. */
const HALTS = new Set(['CanaryFailed', 'NoCanaryMatched', 'FailureBudgetSpent', 'InvalidSpec']);

/** What is to be said beside its schedules. */
function whenItMayStart(detail: ClusterDetail, known: Map<string, Upgrade>, now: number): string | undefined {
  const { upgrades } = detail;
  if (upgrades.length === 0) return 'no upgrade that is shown has it';
  const waiting = upgrades.filter((one) => one.state === 'NotStarted');
  if (waiting.length === 0) return 'it waits for no start';
  if (waiting.every((one) => isHeld(known.get(one.key)))) return 'not before an upgrade that waits for it goes on: each of these is paused or halted';
  return isRestricted(detail, now) ? undefined : 'no start window and no freeze holds it back';
}

/** Whether an upgrade that waits for it may not start it at any time: then each says when it may. */
function isRestricted({ upgrades }: ClusterDetail, now: number): boolean {
  const isAlways = ({ frozen, spans: [first] }: Schedule) => frozen === undefined && first !== undefined && first.opens <= now && first.closes === undefined;
  return upgrades.some((one) => one.state === 'NotStarted' && one.schedule && !isAlways(one.schedule));
}

function Details({ detail, now }: { detail: ClusterDetail; now: number }) {
  const app = useStatus();
  useFleet();
  const labels = useMemo(() => Object.entries(detail.labels), [detail]);
  return (
    <div class="sections">
      <Section title="Upgrades" note={detail.upgrades.length ? undefined : 'none'} wide>
        {detail.upgrades.length > 0 && (
          <Table
            label="Upgrades of this cluster"
            head={['Upgrade', 'State', 'Reason', 'Since', 'Started', 'Ended']}
            rows={detail.upgrades.map((one) => ({
              key: one.key,
              cells: [
                <UpgradeLink of={one.key} />,
                <StateLabel state={one.state} />,
                <>
                  <Reason reason={one.reason} /> <LongText of={one.message} />
                </>,
                one.since ? pastMoment(one.since, now) : '',
                one.startedAt ? moment(one.startedAt, now) : '',
                one.endedAt ? moment(one.endedAt, now) : '',
              ],
            }))}
          />
        )}
      </Section>
      <Section title="Schedule" note={whenItMayStart(detail, app.fleet.upgrades, now)}>
        {isRestricted(detail, now) &&
          detail.upgrades.map((one) => one.schedule && one.state === 'NotStarted' && <ScheduleOf key={one.key} one={one} schedule={one.schedule} upgrade={app.fleet.upgrades.get(one.key)} now={now} />)}
      </Section>
      <Section title="Findings" note={detail.findings.length ? undefined : 'none'}>
        <ul class="facts">
          {detail.findings.map((finding, i) => (
            <li key={`${finding.type}-${i}`}>
              <p>
                <LevelLabel level={finding.level} /> <Text of={finding.type} limit={63} />{' '}
                <span class="quiet">
                  <Text of={named(finding)} limit={127} />
                </span>{' '}
                {finding.accepted && <Label color="green">accepted</Label>}
                {finding.unconfirmed && <Label color="blue">accepted, not confirmed by its agent yet</Label>}
                {finding.acceptedBy && (
                  <span class="quiet">
                    by <Text of={finding.acceptedBy} limit={127} />
                    {finding.until ? `, until ${momentAndDistance(finding.until, now)}` : ''}
                  </span>
                )}
                {finding.ended && <Label color="orange">{finding.ended}</Label>}
              </p>
              <p>
                <LongText of={finding.message} />
              </p>
              {finding.remedy && (
                <p>
                  <strong>What to do:</strong> <LongText of={finding.remedy} />
                </p>
              )}
            </li>
          ))}
        </ul>
      </Section>
      <Section title="Labels" note={labels.length ? undefined : 'none'}>
        <ul class="labels">
          {labels.map(([key, value]) => (
            <li key={key}>
              <a class="label-link" href={`#/fleet?${new URLSearchParams({ labels: `${key}=${value}` })}`}>
                <Text of={`${key}=${value}`} limit={150} />
              </a>
            </li>
          ))}
        </ul>
      </Section>
      <Section title="History" note={detail.history.length ? undefined : 'none'} wide>
        {detail.history.length > 0 && <HistoryTable rows={detail.history} now={now} short />}
      </Section>
    </div>
  );
}
