// What the server answers, of the fleet that is made up.

import { finding, FINDINGS, STEPS } from './fleet.mjs';

const WORDS = ['version', 'state', 'reason', 'message', 'upgrade', 'finding', 'todo'];
const NUMBERS = ['since', 'normalUntil', 'windowOpens'];

export function columns(clusters) {
  const words = [''];
  const index = new Map([['', 0]]);
  const intern = (word) => {
    if (!index.has(word)) index.set(word, words.push(word) - 1);
    return index.get(word);
  };
  const found = { words, name: [], canary: [], available: [], labels: [] };
  for (const column of [...WORDS, ...NUMBERS]) found[column] = [];
  for (const cluster of clusters) {
    found.name.push(cluster.name);
    for (const column of WORDS) found[column].push(intern(cluster[column]));
    for (const column of NUMBERS) found[column].push(cluster[column]);
    found.canary.push(cluster.canary ? 1 : 0);
    found.available.push(cluster.available ? 1 : 0);
    found.labels.push(intern(Object.entries(cluster.labels).map(([key, value]) => `${key}=${value}`).join(',')));
  }
  return found;
}

export function upgrade(fleet, key) {
  const clusters = fleet.of(key);
  const states = {};
  for (const { state } of clusters) states[state] = (states[state] ?? 0) + 1;
  const inFlight = STEPS.reduce((sum, state) => sum + (states[state] ?? 0), 0);
  const paused = fleet.paused.has(key);
  const counts = { selected: clusters.length, notStarted: states.NotStarted ?? 0, inFlight, complete: states.Complete ?? 0, failed: states.Failed ?? 0, other: 0 };
  const left = clusters.length - counts.complete - counts.failed;
  return {
    key,
    generation: fleet.generations.get(key) ?? 1,
    target: fleet.targets.get(key),
    phase: paused ? 'Paused' : 'InProgress',
    paused,
    counts,
    states,
    message: `${counts.complete} of ${counts.selected} clusters are complete`,
    ...(paused ? { halt: { reason: 'Paused', message: 'spec.paused is true: no cluster starts until it is resumed' } } : {}),
    startedAt: fleet.now - 90_000,
    forecast: left > 0 ? { p10: fleet.now + 40_000, p50: fleet.now + 61_000, p90: fleet.now + 110_000 } : {},
  };
}

export function failedSet(fleet, key) {
  const failed = fleet.of(key).filter((cluster) => cluster.state === 'Failed');
  return failed.map(({ name }) => name).sort().join(' ');
}

export function upgradeDetail(fleet, key) {
  const clusters = fleet.of(key);
  const summary = upgrade(fleet, key);
  const group = (list, by) => {
    const groups = new Map();
    for (const cluster of list) groups.set(by(cluster), [...(groups.get(by(cluster)) ?? []), cluster]);
    return [...groups.values()].sort((a, b) => b.length - a.length);
  };
  const state = (wanted) => clusters.filter((cluster) => cluster.state === wanted);
  const row = ({ name, state, reason, message }) => ({ name, state, reason, message });
  return {
    ...summary,
    conditions: [
      { type: 'Selected', status: 'True', reason: 'ClustersSelected', message: `${clusters.length} clusters`, since: fleet.now - 90_000 },
      { type: 'InProgress', status: summary.paused ? 'False' : 'True', reason: summary.paused ? 'Paused' : 'Upgrading', message: summary.message, since: fleet.now - 80_000 },
      { type: 'Failed', status: summary.counts.failed ? 'True' : 'False', reason: summary.counts.failed ? 'ClusterUpgradeFailed' : 'NoFailures', message: '', since: fleet.now - 40_000 },
    ],
    canaries: clusters.filter((cluster) => cluster.canary).map(row),
    soakUntil: fleet.now + 1800,
    ended: ended([...state('Complete'), ...state('Failed')], fleet.now - 90_000),
    inFlight: clusters
      .filter((cluster) => STEPS.includes(cluster.state))
      .map((cluster) => ({ ...row(cluster), startedAt: cluster.startedAt || cluster.since, share: cluster.share, normalUntil: cluster.normalUntil })),
    failedSet: failedSet(fleet, key),
    failures: group(state('Failed'), (cluster) => cluster.reason).map((list) => ({ reason: list[0].reason, message: list[0].message, clusters: list.map((one) => one.name) })),
    waits: group(state('NotStarted'), (cluster) => cluster.reason).map((list) => ({
      reason: list[0].reason,
      message: list[0].message,
      clusters: list.length,
      names: list.slice(0, 5).map((one) => one.name),
    })),
    preChecks: fleet.preChecks,
    findings: FINDINGS.map(([name, level, informer, type, message]) => {
      const names = clusters.filter((cluster) => cluster.findingName === name).map((cluster) => cluster.name);
      return { name, reporters: names.join(), level, informer, type, message, clusters: names.length, names: names.slice(0, 5), accepted: fleet.accepted.some((one) => one.finding === name), holds: names.length };
    }).filter((one) => one.clusters > 0),
    acceptances: fleet.accepted,
    halts: [{ from: fleet.now - 70_000, to: fleet.now - 66_400, reason: 'CanarySoaking', message: 'canaries are complete and soak for 1h' }, ...(summary.halt ? [{ from: fleet.now - 5, ...summary.halt }] : [])],
    eventsAge: 0,
    events: [...fleet.events, { at: fleet.now - 66_400, type: 'Normal', reason: 'HaltEnded', message: 'CanarySoaking is over: clusters start' }],
    spec: yaml(key, fleet.targets.get(key), fleet.preChecks),
    edition: edition(fleet, key),
  };
}

/** What an upgrade was when somebody opened it. */
export function edition(fleet, key) {
  return `${key} ${fleet.targets.get(key)} ${fleet.paused.has(key)}`;
}

function yaml(key, target, preChecks) {
  const [namespace, name] = key.split('/');
  return `apiVersion: cluster.open-cluster-management.io/v1beta1
kind: ManagedClustersUpgrade
metadata:
  name: ${name}
  namespace: ${namespace}
spec:
  clusterSelector:
    clusterSets: [production]
  clusterVersion:
    channel: stable-4.18
    version: ${target}
  preChecks:
    mode: ${preChecks}
  upgradeStrategy:
    canaryClusters:
      clusterSelector:
        matchLabels: {tier: canary}
      soakTime: 1h
    maxConcurrency: 5%
    maxFailures: 2%
`;
}

export function forecast(fleet, key, title, slower = 1) {
  const { now } = fleet;
  const total = Math.max(1, [...fleet.clusters.values()].filter((cluster) => cluster.upgrade).length);
  const done = [...fleet.clusters.values()].filter((cluster) => cluster.state === 'Complete').length;
  const curve = Array.from({ length: 41 }, (_, i) => {
    const at = now + i * 2750 * slower;
    const share = (pace) => done + (total - done) * Math.min(1, (i / 40) * pace);
    return { at: Math.round(at), p10: Math.round(share(1)), p50: Math.round(share(1.8)), p90: Math.round(share(2.75)) };
  });
  return {
    key,
    title,
    text: `${title}: ${total} clusters, ${total - done} waiting; nothing was written\n  ends:       p10 …, p50 …, p90 …\n  stops:      4% of 200 runs: 4% FailureBudgetSpent (too many clusters fail)\n`,
    p10: Math.round(now + 40_000 * slower),
    p50: Math.round(now + 61_000 * slower),
    p90: Math.round(now + 110_000 * slower),
    confident: slower === 1,
    stops: [{ cause: 'FailureBudgetSpent', share: 0.04 * slower }],
    waitsFor: [{ what: 'windows', share: 0.62 }, { what: 'slots', share: 0.31 }, { what: 'canaries', share: 0.07 }],
    failures: 3,
    inFlightAtMost: Math.ceil(total * 0.05),
    curve,
    blocked: [{ reason: 'NotAvailable', message: 'their klusterlets do not answer', clusters: ['dev9'] }],
    shared: ['5 clusters wait in the earlier upgrade default/autumn, too: one that starts here first is left out there, for good'],
  };
}

export function history(fleet) {
  const rows = [];
  for (const cluster of fleet.clusters.values()) {
    if (cluster.state !== 'Complete' && cluster.state !== 'Failed') continue;
    const actual = cluster.endedAt - cluster.startedAt;
    rows.push({
      upgrade: cluster.upgrade,
      cluster: cluster.name,
      target: fleet.targets.get(cluster.upgrade),
      rolloutSince: fleet.now - 90_000,
      from: cluster.from ?? cluster.version,
      startedAt: cluster.startedAt,
      endedAt: cluster.endedAt,
      outcome: cluster.state,
      reason: cluster.reason,
      attempt: 1,
      message: cluster.message,
      canary: cluster.canary,
      to: fleet.targets.get(cluster.upgrade),
      forecast: { p10: fleet.now - 9000, p50: fleet.now - 6000, p90: fleet.now - 1000, ended: fleet.now - 4000, errorSeconds: 2000, withinBand: true },
      actualSeconds: actual,
      by: 'ann@example.com',
    });
  }
  return { rows };
}

const SCHEDULE = (now) => ({ frozen: 'inventory', spans: [0, 1, 2].map((day) => ({ opens: now + 7200 + day * 86_400, closes: now + 21_600 + day * 86_400 })) });

function ended(clusters, since) {
  const ends = clusters.map((cluster) => cluster.endedAt ?? since).sort((a, b) => a - b);
  return [{ at: since, ended: ends.filter((end) => end <= since).length }, ...ends.map((at, i) => ({ at, ended: i + 1 })).filter((point) => point.at > since)];
}

export function clusterDetail(fleet, name) {
  const cluster = fleet.clusters.get(name);
  if (!cluster) return undefined;
  const found = finding(cluster);
  return {
    name,
    version: cluster.version,
    available: cluster.available,
    labels: cluster.labels,
    upgrades: cluster.upgrade
      ? [{ key: cluster.upgrade, state: cluster.state, reason: cluster.reason, message: cluster.message, since: cluster.since, startedAt: cluster.startedAt || undefined, endedAt: cluster.endedAt, schedule: SCHEDULE(fleet.now) }]
      : [],
    findings: found ? [{ level: found[1], informer: found[2], type: found[3], message: found[4], remedy: 'raise the number of replicas', accepted: false }] : [],
    history: history(fleet).rows.filter((row) => row.cluster === name),
  };
}
