// The lists of an upgrade: what waits, what failed, what runs, what has happened.

import type { Condition, InFlight, UpgradeDetail } from '../api/types';
import { ClusterLink, Label, LongText, Names, Reason, StateLabel, Text } from '../ui/parts';
import { isLate } from '../words/sentence';
import { clusters, percent, printable } from '../words/text';
import { duration, moment, pastMoment } from '../words/time';
import { RetryButton } from './actions';
import { Table } from '../ui/table';

export function Waits({ waits, upgrade }: { waits: UpgradeDetail['waits']; upgrade: string }) {
  return (
    <ul class="facts">
      {waits.map((wait) => (
        <li key={wait.reason + wait.message}>
          <p>
            <a href={`#/fleet?${new URLSearchParams({ upgrade, reason: wait.reason })}`}>{clusters(wait.clusters)}</a>{' '}
            <Reason reason={wait.reason} />
          </p>
          <p>
            <LongText of={wait.message} />
          </p>
          <p class="quiet">
            <Names names={wait.names} total={wait.clusters} />
          </p>
        </li>
      ))}
    </ul>
  );
}

export function Failures(props: { failures: UpgradeDetail['failures']; upgrade: UpgradeDetail; disabled: boolean; onDone: () => void }) {
  const { failures, upgrade, disabled, onDone } = props;
  return (
    <ul class="facts">
      {failures.map((failure) => (
        <li key={failure.reason + failure.message}>
          <p>
            <strong>{clusters(failure.clusters.length)}</strong> <Reason reason={failure.reason} />
          </p>
          <p>
            <LongText of={failure.message} />
          </p>
          <ul class="failed-clusters">
            {failure.clusters.slice(0, 12).map((name) => (
              <li key={name}>
                <ClusterLink name={name} /> <RetryButton upgrade={upgrade.key} cluster={name} failure={failure.message} disabled={disabled} onDone={onDone} />
              </li>
            ))}
            {failure.clusters.length > 12 && (
              <li>
                <a href={`#/fleet?${new URLSearchParams({ view: 'table', upgrade: upgrade.key, state: 'Failed', reason: failure.reason })}`}>
                  and {failure.clusters.length - 12} more
                </a>
              </li>
            )}
          </ul>
        </li>
      ))}
    </ul>
  );
}

export function InFlightTable({ rows, now }: { rows: InFlight[]; now: number }) {
  if (rows.length === 0) return <p class="quiet">No cluster is in flight.</p>;
  return (
    <Table
      label="Clusters in flight"
      head={['Cluster', 'State', 'Step', 'Whole upgrade', 'Since', 'Normal until']}
      rows={rows.slice(0, 200).map((row) => ({
        key: row.name,
        cells: [
          <ClusterLink name={row.name} />,
          <StateLabel state={row.state} />,
          <>
            <Reason reason={row.reason} /> <LongText of={row.message} />
          </>,
          row.share === undefined ? <span class="quiet">not known</span> : <Share share={row.share} name={row.name} />,
          `${moment(row.startedAt, now)} (${duration(now - row.startedAt)})`,
          <NormalUntil row={row} now={now} />,
        ],
      }))}
      more={rows.length - 200}
    />
  );
}

function NormalUntil({ row, now }: { row: InFlight; now: number }) {
  if (!row.normalUntil) return <span class="quiet">not known</span>;
  if (!isLate({ state: row.state, normalUntil: row.normalUntil }, now)) return <>{moment(row.normalUntil, now)}</>;
  return (
    <span class="late">
      {moment(row.normalUntil, now)}: {duration(now - row.normalUntil)} longer than usual
    </span>
  );
}

function Share({ share, name }: { share: number; name: string }) {
  const value = Math.max(0, Math.min(1, share));
  return (
    <span class="share">
      <progress value={value} max={1} aria-label={`Share of the whole upgrade of ${printable(name, 63)} that is done`} /> {percent(value)}
    </span>
  );
}

export function Canaries({ canaries }: { canaries: UpgradeDetail['canaries'] }) {
  return (
    <ul class="facts">
      {canaries.slice(0, 50).map((canary) => (
        <li key={canary.name}>
          <p>
            <ClusterLink name={canary.name} /> <StateLabel state={canary.state} /> <Reason reason={canary.reason} />
          </p>
          {canary.message && (
            <p class="quiet">
              <LongText of={canary.message} />
            </p>
          )}
        </li>
      ))}
      {canaries.length > 50 && <li class="quiet">and {canaries.length - 50} more</li>}
    </ul>
  );
}

export function Halts({ halts, now }: { halts: UpgradeDetail['halts']; now: number }) {
  return (
    <ul class="facts">
      {halts.map((halt) => (
        <li key={`${halt.from}${halt.reason}`}>
          <p>
            <Reason reason={halt.reason} /> {moment(halt.from, now)}
            {halt.to ? ` to ${moment(halt.to, now)} (${duration(halt.to - halt.from)})` : ` (for ${duration(now - halt.from)}, not over)`}
          </p>
          <p class="quiet">
            <LongText of={halt.message} />
          </p>
        </li>
      ))}
    </ul>
  );
}

export function Conditions({ conditions, now }: { conditions: Condition[]; now: number }) {
  return (
    <ul class="facts">
      {conditions.map((condition) => (
        <li key={condition.type}>
          <p>
            <strong>
              <Text of={condition.type} limit={63} />
            </strong>{' '}
            <Label color={condition.status === 'True' ? 'blue' : 'grey'}>
              <Text of={condition.status} limit={20} />
            </Label>{' '}
            <Reason reason={condition.reason} /> <span class="quiet">{condition.since > 0 && `since ${pastMoment(condition.since, now)}`}</span>
          </p>
          {condition.message && (
            <p class="quiet">
              <LongText of={condition.message} />
            </p>
          )}
        </li>
      ))}
    </ul>
  );
}

export function EventList({ events, now }: { events: UpgradeDetail['events']; now: number }) {
  if (events.length === 0) return null;
  return (
    <Table
      label="Events"
      head={['When', 'Type', 'Reason', 'Message']}
      rows={events.slice(-100).map((event, i) => ({
        key: `${event.at}-${i}`,
        cells: [
          moment(event.at, now),
          event.type === 'Warning' ? <Label color="orange">Warning</Label> : <Text of={event.type} limit={20} />,
          <Reason reason={event.reason} event />,
          <LongText of={event.message} />,
        ],
      }))}
      more={events.length - 100}
    />
  );
}
