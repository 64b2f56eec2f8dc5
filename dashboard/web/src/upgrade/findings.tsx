// What pre-checks have found, grouped over the fleet, and what somebody has accepted.

import { useState } from 'preact/hooks';
import { api } from '../api/client';
import type { Finding, UpgradeDetail } from '../api/types';
import { ActionDialog } from '../ui/action-dialog';
import { showDialog } from '../ui/dialog-host';
import { Button, Label, LevelLabel, LongText, Names, Text } from '../ui/parts';
import { useApp } from '../ui/use-app';
import { clusters, printable } from '../words/text';
import { momentAndDistance } from '../words/time';

export function Findings(props: { findings: Finding[]; upgrade: string; canAccept: boolean; onDone: () => void }) {
  const accept = (finding: Finding) =>
    showDialog((close) => <AcceptDialog finding={finding} upgrade={props.upgrade} onClose={close} onDone={props.onDone} />);
  return (
    <ul class="facts">
      {props.findings.map((finding, i) => (
        <li key={finding.name || i}>
          <p class="finding-head">
            <LevelLabel level={finding.level} /> <strong>{clusters(finding.clusters)}</strong> <Text of={finding.type} limit={63} />
            {finding.accepted && <Label color="green">accepted</Label>}
            {!finding.accepted && finding.holds !== undefined && finding.holds < finding.clusters && (
              <span class="quiet">not accepted on {clusters(finding.holds)}</span>
            )}
            {!finding.accepted && finding.name !== '' && props.canAccept && (
              <Button kind="secondary" small label={`Accept: ${printable(finding.message || finding.name, 127)}`} onClick={() => accept(finding)}>
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
            <Text of={[finding.informer, finding.name].filter(Boolean).join(' · ')} limit={150} /> · <Names names={finding.names} total={finding.clusters} />
          </p>
        </li>
      ))}
    </ul>
  );
}

/** A day, a week, a month; in seconds. */
const UNTIL = [
  ['', 'no end'],
  ['86400', 'for a day'],
  ['604800', 'for a week'],
  ['2592000', 'for 30 days'],
] as const;

function AcceptDialog({ finding, upgrade, onClose, onDone }: { finding: Finding; upgrade: string; onClose: () => void; onDone: () => void }) {
  // The time of the hub: that of a sandbox passes faster.
  const { clock } = useApp();
  const [reason, setReason] = useState('');
  const [length, setLength] = useState('604800');
  const send = () => {
    const until = length === '' ? {} : { until: Math.floor(clock.now()) + Number(length) };
    return api.accept(upgrade, { finding: finding.name, reason: reason.trim(), ...until });
  };
  return (
    <ActionDialog title="Accept this finding?" action="Accept" disabled={reason.trim() === ''} send={send} onClose={onClose} onDone={onDone}>
      <p>
        <LevelLabel level={finding.level} /> <LongText of={finding.message} />
      </p>
      <p>
        It no longer holds back {clusters(finding.holds ?? finding.clusters)} of <Text of={upgrade} limit={127} />. The acceptance is written under your name; where a finding
        becomes worse than it is now, it is asked for again.
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
    </ActionDialog>
  );
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
              <Text of={one.finding} limit={150} /> by <Text of={one.acceptedBy} limit={127} />
              {one.until && (one.until > now ? `, until ${momentAndDistance(one.until, now)}` : `, expired ${momentAndDistance(one.until, now)}`)}
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
