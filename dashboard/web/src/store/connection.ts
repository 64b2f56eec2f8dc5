// Keeps the fleet current: a snapshot, then changes from a stream. A stream that ends is resumed where it was, after a pause that
// grows; where the server cannot go on from there, it says `reset`, and a new snapshot is taken.

import { ApiError } from '../api/client';
import { EventParser } from '../api/events';
import type { Change, Snapshot } from '../api/types';
import type { Fleet } from './fleet';

export type ConnectionState =
  | { is: 'loading' }
  | { is: 'live' }
  /** Nothing comes at present; `since` is when the hub last answered, as far as the page has heard (of the browser's clock, in milliseconds). */
  | { is: 'cut'; since: number; why: string }
  /** The server refuses for good: the token has expired, or the user may not see this. */
  | { is: 'refused'; status: number; why: string; /** A token of a user of the hub is asked for. */ signIn?: boolean };

export interface Transport {
  snapshot(signal: AbortSignal): Promise<Snapshot>;
  /** The pieces of the stream of changes after `since`. */
  changes(since: number, signal: AbortSignal): Promise<AsyncIterable<string>>;
  sleep(milliseconds: number, signal: AbortSignal): Promise<void>;
  random(): number;
  /** Milliseconds since 1970. */
  now(): number;
}

/** The server sends a comment every 15 seconds. */
const SILENCE = 40_000;
const FIRST_PAUSE = 500;
const LONGEST_PAUSE = 30_000;

/** The pause before an attempt: it doubles, and is spread so that a hundred pages do not come back at once. */
export function pause(attempt: number, random: number): number {
  const whole = Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** Math.min(attempt, 10));
  return whole / 2 + (whole / 2) * random;
}

export class Connection {
  state: ConnectionState = { is: 'loading' };
  private lastHeard = 0;
  /** When what is shown was last known to be current: the server may be there, and the hub not. */
  private lastCurrent = 0;
  private readonly stop = new AbortController();
  private wake: (() => void) | undefined;

  constructor(
    private readonly fleet: Fleet,
    private readonly transport: Transport,
    private readonly onState: (state: ConnectionState) => void,
    private readonly onTime: (now: number) => void,
  ) {}

  async run(): Promise<void> {
    let attempt = 0;
    while (!this.stop.signal.aborted) {
      const heard = this.lastHeard;
      try {
        if (this.fleet.revision === undefined) await this.snapshot();
        await this.follow();
        throw new ApiError(0, 'the server has ended the connection');
      } catch (cause) {
        if (this.stop.signal.aborted) return;
        if (this.refused(cause)) return;
        this.set({ is: 'cut', since: this.lastCurrent || this.transport.now(), why: message(cause) });
      }
      attempt = this.lastHeard > heard ? 0 : attempt + 1;
      await this.rest(pause(attempt, this.transport.random()));
    }
  }

  /** Ends the wait for the next attempt: somebody asked, or the network is back. */
  retryNow(): void {
    this.wake?.();
  }

  close(): void {
    this.stop.abort();
  }

  private async snapshot(): Promise<void> {
    const snapshot = await this.transport.snapshot(this.stop.signal);
    this.onTime(snapshot.now);
    this.fleet.load(snapshot);
    this.heard();
    this.current();
  }

  /** Reads the stream until it ends. */
  private async follow(): Promise<void> {
    const attempt = new AbortController();
    const abort = () => attempt.abort();
    this.stop.signal.addEventListener('abort', abort);
    let timer = setTimeout(abort, SILENCE);
    try {
      const pieces = await this.transport.changes(this.fleet.revision as number, attempt.signal);
      this.heard();
      this.current();
      const parser = new EventParser();
      for await (const piece of pieces) {
        clearTimeout(timer);
        timer = setTimeout(abort, SILENCE);
        this.heard();
        for (const event of parser.push(piece)) {
          if (event.event === 'reset') await this.snapshot();
          else if (event.event === 'change') this.change(JSON.parse(event.data) as Change);
          else if (event.event === 'now') this.sign(JSON.parse(event.data) as { now: number; answered?: boolean });
        }
      }
    } finally {
      clearTimeout(timer);
      abort();
      this.stop.signal.removeEventListener('abort', abort);
    }
  }

  /** The server is there, and the hub, if it has answered. The browser's own clock stands still while the machine sleeps. */
  private sign({ now, answered }: { now: number; answered?: boolean }): void {
    this.onTime(now);
    if (answered) this.current();
  }

  private change(change: Change): void {
    this.onTime(change.now);
    this.current();
    this.fleet.apply(change);
  }

  private current(): void {
    this.lastCurrent = this.transport.now();
  }

  private heard(): void {
    this.lastHeard = this.transport.now();
    if (this.state.is !== 'live') this.set({ is: 'live' });
  }

  private refused(cause: unknown): boolean {
    if (!(cause instanceof ApiError)) return false;
    if (cause.status === 401 || cause.status === 403) {
      this.set({ is: 'refused', status: cause.status, why: cause.message });
      return true;
    }
    // The server does not know this revision and cannot say `reset` in a stream.
    if (cause.status === 400 || cause.status === 404 || cause.status === 410) this.fleet.revision = undefined;
    return false;
  }

  private async rest(milliseconds: number): Promise<void> {
    const early = new AbortController();
    this.wake = () => early.abort();
    const signal = AbortSignal.any([early.signal, this.stop.signal]);
    await this.transport.sleep(milliseconds, signal);
    this.wake = undefined;
  }

  private set(state: ConnectionState): void {
    this.state = state;
    this.onState(state);
  }
}

function message(cause: unknown): string {
  if (cause instanceof DOMException && cause.name === 'AbortError') return 'nothing has come for 40 seconds';
  // What shows it says that there is no connection.
  return cause instanceof ApiError ? cause.message.replace(/^not connected: /, '') : 'the connection was cut';
}
