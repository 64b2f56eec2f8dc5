import { createContext } from 'preact';
import { useContext, useEffect, useReducer, useRef, useState } from 'preact/hooks';
import { ApiError } from '../api/client';
import type { App } from '../app';

export const AppContext = createContext<App | undefined>(undefined);

export function useApp(): App {
  const app = useContext(AppContext);
  if (!app) throw new Error('there is no App above this component');
  return app;
}

/** Renders anew when session or connection change. */
export function useStatus(): App {
  const app = useApp();
  const [, set] = useState(app.generation);
  useEffect(() => {
    const show = () => set(app.generation);
    // Effects run after the first picture: what has come before it has called nobody.
    show();
    return app.subscribe(show);
  }, [app]);
  return app;
}

/** Renders anew when the fleet changes, at most once a frame; gives a number that is another one after each change. */
export function useFleet(): number {
  const app = useApp();
  const [generation, set] = useState(app.fleet.generation);
  useEffect(() => {
    let frame = 0;
    const show = () => {
      frame = 0;
      set(app.fleet.generation);
    };
    show();
    const stop = app.onFleet(() => {
      if (frame === 0) frame = requestAnimationFrame(show);
    });
    return () => {
      stop();
      cancelAnimationFrame(frame);
    };
  }, [app]);
  return generation;
}

/** Renders anew every so often: for texts that say how long ago something was. Asks the server nothing. */
export function useTick(milliseconds: number): void {
  const [, renew] = useReducer((count: number) => count + 1, 0);
  useEffect(() => {
    const timer = setInterval(() => renew(undefined), milliseconds);
    return () => clearInterval(timer);
  }, [milliseconds]);
}

export interface Loaded<T> {
  value?: T;
  /** When the last value came, of the hub's clock. */
  at?: number;
  error?: string;
  /** It is not there, or one may not see it (any more): then there is no value. */
  refusal?: 403 | 404;
  loading: boolean;
  reload(): void;
}

type Known<T> = Omit<Loaded<T>, 'reload'> & { key: string };

/** Loads what belongs to a key, and again when `renew` differs: not more often than `pause` says, so that a busy fleet asks little. */
export function useLoaded<T>(key: string, load: (signal: AbortSignal) => Promise<T>, renew: unknown = 0, pause = 3000): Loaded<T> {
  const app = useStatus();
  const live = app.connection.is === 'live';
  const [state, set] = useState<Known<T>>({ key, loading: true });
  const [asked, ask] = useReducer((count: number) => count + 1, 0);
  const last = useRef({ key: '', at: 0, asked: 0, turn: 0, shown: 0 }).current;
  const ending = useRef(new AbortController());
  // Answers about another key are of no use.
  useEffect(() => {
    const stop = new AbortController();
    ending.current = stop;
    return () => stop.abort();
  }, [key]);
  // What could not be read while nothing came is asked for once something does; so is what one may not read any more, for which the server
  // ends the stream.
  useEffect(() => {
    if (live && (state.error !== undefined || state.value !== undefined)) ask(undefined);
  }, [live]);
  useEffect(() => {
    const { signal } = ending.current;
    const soon = last.key !== key || last.asked !== asked;
    const wait = soon ? 0 : Math.max(0, last.at + pause - performance.now());
    const timer = setTimeout(async () => {
      const turn = last.turn + 1;
      Object.assign(last, { key, at: performance.now(), asked, turn });
      // Nor is an answer that a later one has overtaken.
      const stale = () => signal.aborted || turn < last.shown;
      set((before) => (before.key === key ? { ...before, loading: true } : { key, loading: true }));
      try {
        const value = await load(signal);
        if (stale()) return;
        last.shown = turn;
        set({ key, value, at: app.clock.now(), loading: false });
      } catch (cause) {
        if (stale()) return;
        set((before) => failed(before.key === key ? before : { key, loading: false }, cause));
      }
    }, wait);
    return () => clearTimeout(timer);
  }, [key, renew, asked]);
  const { key: _of, ...shown } = state.key === key ? state : { key, loading: true };
  return { ...shown, reload: () => ask(undefined) };
}

/** What is known after a request has failed. What is gone, forbidden or has no sense any more is not shown as if it were there; when it was seen stays known. */
function failed<T>(before: Known<T>, cause: unknown): Known<T> {
  const error = cause instanceof ApiError ? cause.message : 'the answer cannot be read';
  const { refusal: _before, value, ...rest } = before;
  const refused = cause instanceof ApiError && (cause.status === 403 || cause.status === 404);
  if (cause instanceof ApiError && cause.status === 422) return { ...rest, error, loading: false };
  return refused ? { ...rest, error, refusal: cause.status as 403 | 404, loading: false } : { ...rest, value, error, loading: false };
}

/** Counts the changes that concern an upgrade: its own, and those of its clusters. */
export function useUpgradeChanges(key: string): number {
  const app = useApp();
  const [count, bump] = useReducer((last: number) => last + 1, 0);
  useEffect(() => {
    const { clusters, upgrades } = app.fleet;
    let known = upgrades.get(key);
    return app.onFleet(({ rows }) => {
      const now = upgrades.get(key);
      const word = clusters.words.find(key);
      if (now !== known || !rows || rows.some((row) => clusters.columns.upgrade[row] === word)) bump(undefined);
      known = now;
    });
  }, [app, key]);
  return count;
}
