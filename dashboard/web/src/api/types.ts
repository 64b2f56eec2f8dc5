// What the server answers. Times are seconds since 1970; an index into `words` stands for a text that repeats.

export interface Session {
  user: string;
  readOnly: boolean;
  where: string;
  sandbox: boolean;
  /** Seconds of the hub that pass in one of ours: more than 1 in a sandbox. */
  speed?: number;
  /** What else the user should know, in a sentence. */
  notice?: string;
  /** Where the docs are published; without it there are no links to them. */
  docs?: string;
}

/** Columns of equal length, one row a cluster, sorted by name in natural order. */
export interface Columns {
  words: string[];
  name: string[];
  version: number[];
  state: number[];
  reason: number[];
  message: number[];
  upgrade: number[];
  canary: number[];
  available: number[];
  since: number[];
  normalUntil: number[];
  windowOpens: number[];
  finding: number[];
  labels: number[];
  todo: number[];
}

export interface Counts {
  selected: number;
  notStarted: number;
  inFlight: number;
  complete: number;
  failed: number;
  other: number;
}

export interface Band {
  p10?: number;
  p50?: number;
  p90?: number;
}

/** The band of an upgrade's status, and the chance that it stops before its end. */
export interface StatusForecast extends Band {
  stopPercent?: number;
  stopReason?: string;
  /** The p90 of its start, where it is expected after that. */
  lateAfter?: number;
}

export interface Upgrade {
  key: string;
  uid: string;
  /** The edition of its spec. */
  generation: number;
  target: string;
  phase: string;
  paused: boolean;
  counts: Counts;
  states: Record<string, number>;
  message: string;
  halt?: { reason: string; message: string };
  /** What no hub has taken up yet, in words. */
  notSeen?: string;
  startedAt?: number;
  forecast?: StatusForecast;
  docs?: string;
}

export interface Snapshot {
  revision: number;
  now: number;
  upgrades: Upgrade[];
  clusters: Columns;
}

export interface Change {
  revision: number;
  now: number;
  upgrades?: Upgrade[];
  removedUpgrades?: string[];
  clusters?: Columns;
  removedClusters?: string[];
}

export interface Condition {
  type: string;
  status: string;
  reason: string;
  message: string;
  since: number;
}

export interface InFlight {
  name: string;
  state: string;
  reason: string;
  message: string;
  startedAt: number;
  share?: number;
  normalUntil?: number;
}

export interface Finding {
  /** What an acceptance names; empty where it cannot be accepted. */
  name: string;
  /** Which clusters report its name, and at which level, in short. */
  reporters?: string;
  level: string;
  informer: string;
  type: string;
  message: string;
  remedy?: string;
  clusters: number;
  names: string[];
  accepted: boolean;
  /** What it is to its informer. */
  uid?: string;
  /** On how many clusters nobody has accepted it. */
  /** On how many nobody has accepted it; it may hold fewer. */
  unaccepted?: number;
  holds?: number;
  /** On how many of these somebody has accepted it, and their agents have not been asked since. */
  unconfirmed?: number;
}

export interface EndedPoint {
  at: number;
  /** Complete or failed. */
  ended: number;
}

/** When a cluster may be started: the next times, and why it is frozen now. */
export interface Schedule {
  frozen?: string;
  spans: { opens: number; closes?: number }[];
}

export interface UpgradeDetail extends Upgrade {
  conditions: Condition[];
  canaries: { name: string; state: string; reason: string; message: string }[];
  soakUntil?: number;
  /** How many clusters had ended when, up to now. */
  ended: EndedPoint[];
  inFlight: InFlight[];
  failures: { reason: string; message: string; clusters: string[] }[];
  /** Which clusters have failed, in short. */
  failedSet: string;
  waits: { reason: string; message: string; clusters: number; names: string[] }[];
  /** What follows from findings; not known where the spec is invalid. */
  preChecks?: string;
  findings: Finding[];
  /** `counts`: it is about the target that the upgrade has now. */
  acceptances: {
    finding: string;
    level: string;
    /** On which clusters, in words. */
    on: string;
    /** On which of them it has ended, in words; empty if on none. */
    endedOn: string;
    reason: string;
    acceptedBy: string;
    until?: number;
    target: string;
    counts: boolean;
  }[];
  halts: { from: number; to?: number; reason: string; message: string }[];
  events: { at: number; type: string; reason: string; message: string }[];
  /** How many seconds ago the Events were read: the server reads them once for all who look at about the same time. */
  eventsAge: number;
  /** What could not be read of it, and why. */
  unread: string[];
  spec: string;
  /** What of the upgrade is seen by who edits it. */
  edition: string;
}

/** How many clusters have ended by a moment: so many or more in nine of ten runs, in half of them, in one of ten. */
export interface CurvePoint {
  at: number;
  p10: number;
  p50: number;
  p90: number;
}

export interface Forecast extends Band {
  /** `NAMESPACE/NAME` of the upgrade. */
  key: string;
  title: string;
  /** When it was made. */
  computedAt?: number;
  /** How many clusters take part in it. */
  clusters?: number;
  text: string;
  confident: boolean;
  stops: { cause: string; share: number }[];
  waitsFor: { what: string; share: number }[];
  failures: number;
  inFlightAtMost: number;
  curve?: CurvePoint[];
  blocked: { reason: string; message: string; clusters: string[] }[];
  /** From which other upgrades clusters are taken, a sentence each. */
  shared: string[];
}

export interface HistoryRow {
  upgrade: string;
  /** The upgrade is deleted: another one may have its name. */
  deleted?: boolean;
  cluster: string;
  target: string;
  /** When the rollout began of which the attempt is a part. */
  rolloutSince?: number;
  from?: string;
  startedAt?: number;
  endedAt?: number;
  outcome: string;
  reason: string;
  attempt: number | string;
  actualSeconds?: number;
  by?: string;
  message?: string;
  canary?: boolean;
  to?: string;
  /** Of the rollout as a whole, and how good it was. */
  forecast?: RolloutForecast;
}

export interface RolloutForecast extends Band {
  ended?: number;
  /** By how much it ended later than p50. */
  errorSeconds?: number;
  withinBand?: boolean;
}

export interface ClusterDetail {
  name: string;
  version: string;
  available: boolean;
  labels: Record<string, string>;
  upgrades: {
    key: string;
    state: string;
    reason: string;
    message: string;
    since?: number;
    startedAt?: number;
    endedAt?: number;
    schedule?: Schedule;
  }[];
  findings: ClusterFinding[];
  history: HistoryRow[];
}

/** What one cluster has found. */
export interface ClusterFinding {
  level: string;
  informer: string;
  uid?: string;
  type: string;
  message: string;
  remedy?: string;
  accepted: boolean;
  /** Somebody has accepted it, and the cluster's agent has not been asked since. */
  unconfirmed?: boolean;
  acceptedBy?: string;
  until?: number;
  /** Why an acceptance counts no more. */
  ended?: string;
}
