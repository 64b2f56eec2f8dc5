// What the whole page shares: the fleet, the clock, who the user is, and whether the connection stands.

import { api, ApiError, whenTokenExpires } from './api/client';
import type { Session } from './api/types';
import { HubClock } from './store/clock';
import { Connection, type ConnectionState } from './store/connection';
import { Fleet, type FleetUpdate } from './store/fleet';
import { browserTransport } from './store/transport';
import { areDraftsOf } from './plan/drafts';
import { setDocsBase } from './words/docs';

/** How long after a session could not be read it is read again, in milliseconds. */
const SESSION_AGAIN = 5000;

export class App {
  readonly fleet = new Fleet();
  readonly clock = new HubClock();
  session: Session | undefined;
  connection: ConnectionState = { is: 'loading' };
  /** Another number after each change of session or connection. */
  generation = 0;
  private readonly link: Connection;
  private readonly listeners = new Set<() => void>();

  constructor() {
    this.link = new Connection(
      this.fleet,
      browserTransport,
      (state) => this.setConnection(state),
      (now) => this.clock.observe(now),
    );
    whenTokenExpires((signIn) => this.expire(signIn));
  }

  start(): void {
    void this.readSession();
    void this.link.run();
    addEventListener('online', () => this.link.retryNow());
  }

  retryNow(): void {
    this.link.retryNow();
    if (!this.session) void this.readSession();
  }

  /** Calls when session or connection change. */
  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Calls when the fleet changes, at most once a frame. */
  onFleet(listener: (update: FleetUpdate) => void): () => void {
    return this.fleet.subscribe(listener);
  }

  private async readSession(): Promise<void> {
    try {
      this.session = await api.session();
      // The page may show one already.
      if (!areDraftsOf(this.session.user, this.session.where)) location.reload();
      setDocsBase(this.session.docs);
      this.clock.setSpeed(this.session.speed && this.session.speed > 0 ? this.session.speed : 1);
    } catch (cause) {
      // The connection says what is wrong. Without a session nothing can be changed.
      if (!(cause instanceof ApiError)) throw cause;
      if (cause.status !== 401 && cause.status !== 403) setTimeout(() => this.session || void this.readSession(), SESSION_AGAIN);
    }
    this.tell();
  }

  private setConnection(state: ConnectionState): void {
    const was = this.connection.is;
    this.connection = state;
    // The server may be another one by now, on which one may do something else.
    if (state.is === 'live' && was === 'cut') void this.readSession();
    // What one may not see any more must not stay.
    if (state.is === 'refused' && state.status === 403) this.fleet.clear();
    this.tell();
  }

  /** Any request may be the first to learn that the token has expired. */
  private expire(signIn: boolean): void {
    this.link.close();
    this.connection = { is: 'refused', status: 401, why: 'the token has expired', signIn };
    this.tell();
  }

  private tell(): void {
    this.generation++;
    for (const listener of this.listeners) listener();
  }
}
