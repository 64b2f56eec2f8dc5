// A fleet that is made up and upgraded: enough of it to look at the page, not a simulation of the hub.

import { random } from './random.mjs';

const STEPS = ['PreAction', 'Initialized', 'PartialUpgrade', 'Operators', 'PostAction'];
/** Seconds that a step usually takes. */
const USUAL = { PreAction: 180, Initialized: 120, PartialUpgrade: 3600, Operators: 400, PostAction: 120 };
const FAILURES = [
  ['UpgradeTimedOut', 'not at the target within 3h; it last waited for ClusterOperator machine-config: 2 of 6 nodes updated'],
  ['PreActionFailed', 'Job etcd-backup failed: BackoffLimitExceeded'],
  ['OperatorsTimedOut', 'InstallPlan openshift-logging/install-x8k2p is pending'],
];
const FINDINGS = [
  ['budget-at-limit', 'Warning', 'drydock.pod-disruption-budgets', 'PodDisruptionBudgetAtLimit', 'budget monitoring/prometheus allows no eviction'],
  ['api-removal-flowschemas', 'Error', 'drydock.api-removals', 'APIRemovedInNextRelease', 'flowschemas.v1beta3.flowcontrol.apiserver.k8s.io is still asked for by gitops/argocd'],
  ['etcd-slow', 'Info', 'drydock.etcd', 'EtcdSlowFsync', 'etcd: p99 of fsync is 38 ms'],
];
const PLAIN = ['region', 'environment', 'tier'];

export class MockFleet {
  constructor({ clusters = 120, seed = 1, hostile = true, now = Math.floor(Date.now() / 1000) } = {}) {
    this.dice = random(seed);
    this.now = now;
    this.revision = 1000;
    this.clusters = new Map();
    this.upgrades = new Map();
    this.paused = new Set();
    this.generations = new Map();
    this.accepted = [];
    this.preChecks = 'Require';
    this.events = [];
    const targets = clusters > 40 ? [['default/spring', '4.18.9', 0.7], ['edge/edge-418', '4.18.9', 0.2]] : [['default/spring', '4.18.9', 1]];
    this.targets = new Map(targets.map(([key, target]) => [key, target]));
    const names = Array.from({ length: clusters }, (_, i) => name(i, clusters));
    if (hostile && clusters >= 10) this.hostile = plantHostile(names);
    for (const one of names) this.clusters.set(one, this.cluster(one, targets));
    this.sort();
  }

  cluster(name, targets) {
    const { dice, now } = this;
    const labels = {
      region: dice.pick(['eu-central', 'eu-west', 'us-east', 'us-west', 'ap-south']),
      environment: dice.pick(['prod', 'prod', 'prod', 'staging', 'dev']),
      tier: dice.chance(0.02) ? 'canary' : dice.pick(['gold', 'silver']),
    };
    const at = dice.next();
    let upgrade = '';
    let sum = 0;
    for (const [key, , share] of targets) {
      sum += share;
      if (at < sum) {
        upgrade = key;
        break;
      }
    }
    const cluster = {
      name,
      labels,
      upgrade,
      version: dice.pick(['4.17.21', '4.17.21', '4.17.19', '4.16.33']),
      state: '',
      reason: '',
      message: '',
      todo: '',
      canary: labels.tier === 'canary',
      available: !dice.chance(0.008),
      since: 0,
      normalUntil: 0,
      windowOpens: 0,
      finding: '',
      startedAt: 0,
    };
    if (upgrade === '') return cluster;
    const [finding] = dice.chance(0.06) ? [dice.pick(FINDINGS)] : [undefined];
    cluster.findingName = finding?.[0];
    cluster.finding = finding?.[1] ?? '';
    const phase = cluster.canary ? 0 : dice.next();
    if (phase < 0.34) this.complete(cluster, now - dice.below(80_000));
    else if (phase < 0.39) {
      this.enter(cluster, dice.pick(STEPS), now - dice.below(4000));
      cluster.startedAt = cluster.since - dice.below(1000);
    } else if (phase < 0.4) this.fail(cluster, now - dice.below(40_000));
    else this.wait(cluster);
    return cluster;
  }

  edited(key) {
    this.generations.set(key, (this.generations.get(key) ?? 1) + 1);
  }

  wait(cluster) {
    const { dice, now } = this;
    cluster.state = 'NotStarted';
    cluster.since = now - dice.below(86_000);
    cluster.todo = '';
    cluster.normalUntil = 0;
    if (!cluster.available) return set(cluster, 'NotAvailable', 'ManagedClusterConditionAvailable is Unknown: the klusterlet has not renewed its lease', 'look at the cluster and its klusterlet');
    if (cluster.finding === 'Error') return set(cluster, 'RisksNotAccepted', `1 finding is not accepted: ${finding(cluster)[4]}`, 'correct it, or accept it: kubectl drydock accept');
    if (cluster.labels.region === 'us-west' || cluster.labels.region === 'ap-south') {
      cluster.windowOpens = now + (cluster.labels.region === 'us-west' ? 7200 : 100_000) + (now % 60);
      cluster.normalUntil = cluster.windowOpens;
      return set(cluster, 'AwaitingStartWindow', 'its start window opens later', '');
    }
    return set(cluster, 'WaitingForSlot', 'maxConcurrency is reached', '');
  }

  enter(cluster, state, at) {
    cluster.state = state;
    cluster.since = at;
    cluster.normalUntil = at + Math.round(USUAL[state] * 1.6);
    cluster.windowOpens = 0;
    cluster.todo = '';
    const done = 30 + this.dice.below(60);
    const [reason, message] = {
      PreAction: ['ActionRunning', '0 of 1 Jobs have succeeded: etcd-backup'],
      Initialized: ['WaitingForTarget', 'ClusterVersion does not show the target yet'],
      PartialUpgrade: ['Progressing', `Working towards ${this.targets.get(cluster.upgrade)}: ${Math.round(done * 8.9)} of 889 done (${done}% complete), waiting on machine-config`],
      Operators: ['ActionRunning', 'InstallPlans of 3 operators are being approved'],
      PostAction: ['ActionRunning', '0 of 1 Jobs have succeeded: smoke-test'],
    }[state];
    cluster.share = (STEPS.indexOf(state) + done / 100) / STEPS.length;
    set(cluster, reason, message, '');
  }

  complete(cluster, at) {
    cluster.state = 'Complete';
    cluster.since = at;
    cluster.normalUntil = 0;
    cluster.windowOpens = 0;
    cluster.finding = '';
    cluster.endedAt = at;
    cluster.startedAt ||= at - 3000 - this.dice.below(3000);
    cluster.from ??= cluster.version;
    cluster.version = this.targets.get(cluster.upgrade);
    set(cluster, 'Upgraded', `runs ${cluster.version}`, '');
  }

  fail(cluster, at) {
    const [reason, message] = this.dice.pick(FAILURES);
    cluster.state = 'Failed';
    cluster.since = at;
    cluster.normalUntil = 0;
    cluster.endedAt = at;
    cluster.startedAt ||= at - 10_800;
    set(cluster, reason, message, `see what the cluster waits for; then: kubectl drydock retry spring --cluster ${cluster.name}`);
  }

  /** Some time passes; gives the clusters that have changed. */
  step(seconds = 1) {
    this.now += seconds;
    const changed = [];
    const all = [...this.clusters.values()];
    const flying = all.filter((cluster) => STEPS.includes(cluster.state));
    for (const cluster of flying) {
      if (!this.dice.chance(Math.min(0.2, (seconds * 12) / USUAL[cluster.state]))) continue;
      if (this.dice.chance(0.004)) {
        this.fail(cluster, this.now);
        this.event('Warning', 'ClusterFailed', `${cluster.name}: ${cluster.message}`);
      } else {
        const next = STEPS[STEPS.indexOf(cluster.state) + 1];
        if (next) this.enter(cluster, next, this.now);
        else this.complete(cluster, this.now);
      }
      changed.push(cluster);
    }
    const slots = Math.max(2, Math.ceil(all.length * 0.05));
    for (const cluster of all) {
      if (flying.length + changed.length >= slots + 20) break;
      if (cluster.state !== 'NotStarted' || cluster.reason !== 'WaitingForSlot' || this.paused.has(cluster.upgrade)) continue;
      if (!this.dice.chance(0.02)) continue;
      cluster.startedAt = this.now;
      this.enter(cluster, 'PreAction', this.now);
      changed.push(cluster);
    }
    return changed;
  }

  event(type, reason, message) {
    this.events.unshift({ at: this.now, type, reason, message });
    this.events.length = Math.min(this.events.length, 200);
  }

  sort() {
    const collator = new Intl.Collator('en', { numeric: true });
    this.clusters = new Map([...this.clusters].sort((a, b) => collator.compare(a[0], b[0])));
  }

  of(key) {
    return [...this.clusters.values()].filter((cluster) => cluster.upgrade === key);
  }
}

export function finding(cluster) {
  return FINDINGS.find(([name]) => name === cluster.findingName);
}

export { FINDINGS, PLAIN, STEPS };

function set(cluster, reason, message, todo) {
  if (cluster.hostileMessage) message = cluster.hostileMessage;
  Object.assign(cluster, { reason, message, todo });
}

function name(i, clusters) {
  if (clusters <= 30) return `dev${i + 1}`;
  const site = ['fra', 'ams', 'iad', 'pdx', 'bom'][i % 5];
  return `${site}-${['prod', 'edge', 'dev'][Math.floor(i / 5) % 3]}-${Math.floor(i / 15) + 1}`;
}

/** Names that a page may be broken with. */
function plantHostile(names) {
  const hostile = ['<img src=x onerror=alert(1)>', '\u202egnp.exe-\u0627\u0644\u0639\u0631\u0628\u064a\u0629', 'a'.repeat(63), '"><script>alert(2)</script>'];
  hostile.forEach((one, i) => {
    names[Math.min(names.length - 1, 2 + i * 2)] = one;
  });
  return hostile;
}
