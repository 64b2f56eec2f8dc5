// The fleet as the page knows it: the last snapshot, and the changes since.

import type { Change, Snapshot, Upgrade } from '../api/types';
import { ClusterTable } from './columns';

/** What a change has touched, for those who draw it. */
export interface FleetUpdate {
  /** Rows whose values have changed; undefined if rows came, went or moved, and everything has to be looked at anew. */
  rows: number[] | undefined;
  upgrades: boolean;
}

type Listener = (update: FleetUpdate) => void;

export class Fleet {
  readonly clusters = new ClusterTable();
  readonly upgrades = new Map<string, Upgrade>();
  /** The revision that is shown; undefined before the first snapshot. */
  revision: number | undefined;
  /** Counts the changes: what depends on the fleet is computed anew when it differs. */
  generation = 0;
  private readonly listeners = new Set<Listener>();

  load(snapshot: Snapshot): void {
    this.clusters.load(snapshot.clusters);
    this.upgrades.clear();
    for (const upgrade of snapshot.upgrades) this.upgrades.set(upgrade.key, upgrade);
    this.revision = snapshot.revision;
    this.changed({ rows: undefined, upgrades: true });
  }

  apply(change: Change): void {
    // After a connection was cut, a change may come twice.
    if (this.revision !== undefined && change.revision <= this.revision) return;
    let rows: number[] | undefined = [];
    if (change.removedClusters?.length && this.clusters.remove(change.removedClusters)) rows = undefined;
    if (change.clusters?.name.length) {
      const written = this.clusters.update(change.clusters);
      rows = rows && written;
    }
    for (const key of change.removedUpgrades ?? []) this.upgrades.delete(key);
    for (const upgrade of change.upgrades ?? []) this.upgrades.set(upgrade.key, upgrade);
    this.revision = change.revision;
    this.changed({ rows, upgrades: Boolean(change.upgrades?.length || change.removedUpgrades?.length) });
  }

  /** Forgets all: it may not be shown any more. */
  clear(): void {
    this.clusters.remove([...this.clusters.name]);
    this.upgrades.clear();
    this.revision = undefined;
    this.changed({ rows: undefined, upgrades: true });
  }

  subscribe(listener: Listener): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  private changed(update: FleetUpdate): void {
    this.generation++;
    for (const listener of this.listeners) listener(update);
  }
}
