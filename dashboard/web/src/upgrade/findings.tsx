// What pre-checks have found, grouped over the fleet, and what somebody has accepted.

import { useState } from 'preact/hooks';
import { api } from '../api/client';
import type { Finding, UpgradeDetail } from '../api/types';
import { showDialog } from '../ui/dialog-host';
import { Alert, Button, Label, LevelLabel, LongText, Names, Text } from '../ui/parts';
import { useApp } from '../ui/use-app';
import { clusters, printable } from '../words/text';
import { momentAndDistance } from '../words/time';
import { UpgradeDialog } from './upgrade-dialog';

interface Shown {
  findings: Finding[];
  upgrade: string;
  /** What the clusters are to be upgraded to. */
  target: string;
  /** Of the pre-checks, if it is known. */
  mode: string | undefined;
  canAccept: boolean;
  disabled: boolean;
  onDone: () => void;
}

export function Findings(props: Shown) {
  const accept = (finding: Finding) => {
    // The server knows a finding by its name, whatever else clusters say of it.
    const group = props.findings.filter((one) => one.name === finding.name);
    showDialog((close) => <AcceptDialog group={group} finding={finding} upgrade={props.upgrade} target={props.target} mode={props.mode} onClose={close} onDone={props.onDone} />);
  };
  return (
    <ul class="facts">
      {props.findings.map((finding, i) => (
        <li key={finding.name || i}>
          <p class="finding-head">
            <LevelLabel level={finding.level} /> <strong>{clusters(finding.clusters)}</strong> <Text of={finding.type} limit={63} />
            {finding.accepted && <Label color="green">accepted</Label>}
            {!finding.accepted && (finding.unaccepted ?? finding.clusters) < finding.clusters && (
              <span class="quiet">not accepted on {clusters(finding.unaccepted ?? 0)}</span>
            )}
            {!finding.accepted && finding.holds === 0 && <span class="quiet">holds no cluster any more: they have begun</span>}
            {(finding.unconfirmed ?? 0) > 0 && (
              <span class="quiet">accepted on {clusters(finding.unconfirmed ?? 0)}, and counts there when the agents have confirmed it</span>
            )}
            {!finding.accepted && finding.name !== '' && props.canAccept && (
              <Button kind="secondary" small disabled={props.disabled} label={`Accept: ${printable(finding.message || finding.name, 127)}`} onClick={() => accept(finding)}>
                Accept…
              </Button>
            )}
          </p>
          <p>
            <LongText of={finding.message} />
          </p>
          {finding.remedy && (
            <p>
              <strong>What to do:</strong> <LongText of={finding.remedy} />
            </p>
          )}
          <p class="quiet">
            <Text of={[named(finding), finding.name].filter(Boolean).join(' · ')} limit={150} /> · <Names names={finding.names} total={finding.clusters} />
          </p>
        </li>
      ))}
    </ul>
  );
}

/** Who reports it, and as what: so it can be accepted, too. */
export function named({ informer, uid }: { informer: string; uid?: string }): string {
  return uid ? `${informer}/${uid}` : informer;
}

/** A day, a week, a month; in seconds. */
const UNTIL = [
  ['', 'no end'],
  ['86400', 'for a day'],
  ['604800', 'for a week'],
  ['2592000', 'for 30 days'],
] as const;

/** What an acceptance changes: that depends on what follows from findings. */
function Effect({ mode, upgrade, holds }: { mode: string | undefined; upgrade: string; holds: number }) {
  const key = <Text of={upgrade} limit={127} />;
  switch (mode) {
    case 'Require':
      if (holds === 0) return <p>It holds back no cluster of {key}: those that have it have begun.</p>;
      return (
        <p>
          It no longer holds back {clusters(holds)} of {key}, whose preChecks.mode is Require; other findings may hold them back still.
        </p>
      );
    case 'Report':
      return <p>It holds back no cluster of {key}: with preChecks.mode Report clusters start whatever they have found. That somebody has accepted it is written down, and counts when the mode becomes Require.</p>;
    case 'Off':
      return <p>It holds back no cluster of {key}: its preChecks.mode is Off. That somebody has accepted it is written down, and counts when the mode becomes Require.</p>;
    default:
      return <p>If the preChecks.mode of {key} is Require, it no longer holds back {clusters(holds)}; in other modes clusters start whatever they have found.</p>;
  }
}

/** What the health check of an agent looks at itself, whatever is accepted. */
function isOfHealthCheck(group: Finding[]): boolean {
  return group.some(({ informer, level }) => informer === 'drydock.cluster-operators' || (informer === 'drydock.alerts' && level === 'Critical'));
}

interface Accepting {
  finding: Finding;
  /** The findings of its name: what clusters say differs. */
  group: Finding[];
  upgrade: string;
  target: string;
  mode: string | undefined;
  onClose: () => void;
  onDone: () => void;
}

function AcceptDialog({ finding, group, upgrade, target, mode, onClose, onDone }: Accepting) {
  // The time of the hub: that of a sandbox passes faster.
  const { clock, fleet } = useApp();
  // That of the upgrade that is shown when this opens.
  const [uid] = useState(() => fleet.upgrades.get(upgrade)?.uid);
  const [reason, setReason] = useState('');
  const [length, setLength] = useState('604800');
  const send = () => {
    const until = length === '' ? {} : { until: Math.floor(clock.now()) + Number(length) };
    return api.accept(upgrade, { uid, finding: finding.name, target, reporters: finding.reporters ?? '', reason: reason.trim(), ...until });
  };
  return (
    <UpgradeDialog upgrade={upgrade} title="Accept this finding?" action="Accept" disabled={reason.trim() === ''} send={send} onClose={onClose} onDone={onDone}>
      <p>
        <LevelLabel level={finding.level} /> <LongText of={finding.message} />
      </p>
      <Effect mode={mode} upgrade={upgrade} holds={sum(group, (one) => one.holds ?? one.clusters)} />
      {finding.uid === 'image-required' && (
        <Alert kind="warning" title="The release would be requested by its version nevertheless, and refused (InvalidTarget): give its image instead, or let the agent request it." />
      )}
      {isOfHealthCheck(group) && (
        <Alert
          kind="warning"
          title="Where the agent upgrades the cluster, its own health check waits nevertheless while critical alerts of the platform fire or operators are degraded, with the cluster's slot, and fails after two hours: correct them, or leave those alerts out by healthCheck.ignoredCriticals."
        />
      )}
      <p>
        It is accepted under your name on {reporters(sum(group, (one) => one.clusters))} as reported now; where it becomes worse, or another cluster finds it
        later, it has to be accepted again.
        {group.length > 1 && ' Some of them report it in other words than these.'}
      </p>
      <label class="field">
        <span>Reason (required)</span>
        <span class="pf-v6-c-form-control">
          <input type="text" value={reason} maxLength={500} required onInput={(event) => setReason(event.currentTarget.value)} />
        </span>
      </label>
      <label class="field">
        <span>How long</span>
        <span class="pf-v6-c-form-control choice">
          <select value={length} onChange={(event) => setLength(event.currentTarget.value)}>
            {UNTIL.map(([value, label]) => (
              <option key={value} value={value} selected={value === length}>
                {label}
              </option>
            ))}
          </select>
        </span>
      </label>
    </UpgradeDialog>
  );
}

function sum(findings: Finding[], of: (finding: Finding) => number): number {
  return findings.reduce((total, finding) => total + of(finding), 0);
}

function reporters(count: number): string {
  return count === 1 ? 'the 1 cluster that reports it, up to its level' : `the ${clusters(count)} that report it, each up to its level`;
}

export function Acceptances({ acceptances, now }: { acceptances: UpgradeDetail['acceptances']; now: number }) {
  if (acceptances.length === 0) return null;
  return (
    <>
      <h3>Accepted</h3>
      <ul class="facts">
        {acceptances.map((one, i) => (
          <li key={`${one.finding}-${i}`}>
            <p>
              <Text of={one.finding} limit={150} /> up to {one.level} on <Text of={one.on} limit={900} /> by <Text of={one.acceptedBy} limit={127} />
              {!one.counts && (
                <>
                  {' '}
                  for <Text of={one.target} limit={100} />: it does not count now
                </>
              )}
              {one.until && (one.until > now ? `, until ${momentAndDistance(one.until, now)}` : `, expired ${momentAndDistance(one.until, now)}`)}
              {one.endedOn && (
                <>
                  ; ended on <Text of={one.endedOn} limit={900} />, where it went beyond that
                </>
              )}
            </p>
            <p class="quiet">
              <LongText of={one.reason} />
            </p>
          </li>
        ))}
      </ul>
    </>
  );
}
