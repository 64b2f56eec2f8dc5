import { describe, expect, it } from 'vitest';
import { ApiError } from '../api/client';
import type { Snapshot } from '../api/types';
import { Connection, type ConnectionState, pause, type Transport } from './connection';
import { Fleet } from './fleet';
import { columns } from './test-columns';

/** What the server does, one entry for each stream that is asked for: pieces, then how it ends. */
type Script = { pieces: string[]; fails?: ApiError };

class FakeServer implements Transport {
  readonly log: string[] = [];
  snapshots: (Snapshot | ApiError)[] = [];
  private time = 0;

  constructor(
    private readonly streams: Script[],
    private readonly onEnd: () => void,
  ) {}

  async snapshot(): Promise<Snapshot> {
    this.log.push('snapshot');
    const next = this.snapshots.shift();
    if (next instanceof ApiError) throw next;
    return next ?? snapshot(10);
  }

  async changes(since: number): Promise<AsyncIterable<string>> {
    this.log.push(`since ${since}`);
    const next = this.streams.shift();
    if (!next) {
      this.onEnd();
      throw new ApiError(0, 'over');
    }
    if (next.fails && next.pieces.length === 0) throw next.fails;
    return (async function* () {
      yield* next.pieces;
      if (next.fails) throw next.fails;
    })();
  }

  async sleep(milliseconds: number): Promise<void> {
    this.log.push(`sleep ${milliseconds}`);
  }

  random = () => 1;
  now = () => (this.time += 1000);
}

function snapshot(revision: number): Snapshot {
  return { revision, now: 50, upgrades: [], clusters: columns([{ name: 'dev1', state: `at ${revision}` }]) };
}

const event = (revision: number) =>
  `id: ${revision}\nevent: change\ndata: ${JSON.stringify({ revision, now: 60, clusters: columns([{ name: 'dev1', state: `at ${revision}` }]) })}\n\n`;

async function run(streams: Script[], snapshots: (Snapshot | ApiError)[] = []) {
  const fleet = new Fleet();
  const states: ConnectionState[] = [];
  const times: number[] = [];
  const server = new FakeServer(streams, () => connection.close());
  server.snapshots = snapshots;
  const connection: Connection = new Connection(
    fleet,
    server,
    (state) => states.push(state),
    (now) => times.push(now),
  );
  await connection.run();
  return { fleet, states, times, log: server.log, shown: fleet.clusters.word('state', 0) };
}

describe('the connection', () => {
  it('takes a snapshot, then the changes after it', async () => {
    const { log, shown, states, times } = await run([{ pieces: [event(11), event(12)] }]);
    expect(log.slice(0, 2)).toEqual(['snapshot', 'since 10']);
    expect(shown).toBe('at 12');
    expect(states.map((state) => state.is)).toEqual(['live', 'cut']);
    expect(times).toEqual([50, 60, 60]);
  });

  it('takes over the time of the hub also when nothing changes', async () => {
    const { times } = await run([{ pieces: [': the server is there\nevent: now\ndata: {"now":75}\n\n'] }]);
    expect(times).toEqual([50, 75]);
  });

  it('goes on where it was when the stream is cut', async () => {
    const { log, shown } = await run([{ pieces: [event(11)], fails: new ApiError(0, 'cut') }, { pieces: [event(12)] }]);
    expect(log).toEqual(['snapshot', 'since 10', 'sleep 500', 'since 11', 'sleep 500', 'since 12']);
    expect(shown).toBe('at 12');
  });

  it('takes a new snapshot when the server says reset, without a pause', async () => {
    const { log, shown } = await run([{ pieces: ['event: reset\ndata: {}\n\n', event(31)] }], [snapshot(10), snapshot(30)]);
    expect(log.slice(0, 3)).toEqual(['snapshot', 'since 10', 'snapshot']);
    expect(shown).toBe('at 31');
  });

  it('takes a new snapshot when the server does not know the revision', async () => {
    const { log } = await run([{ pieces: [], fails: new ApiError(410, 'gone') }, { pieces: [] }], [snapshot(10), snapshot(20)]);
    expect(log.slice(0, 5)).toEqual(['snapshot', 'since 10', 'sleep 500', 'snapshot', 'since 20']);
  });

  it('waits longer each time that the server does not answer, and starts anew once it does', async () => {
    const down = new ApiError(0, 'down');
    const { log } = await run([{ pieces: [], fails: down }, { pieces: [], fails: down }, { pieces: [], fails: down }, { pieces: [': hello\n\n'] }]);
    expect(log.filter((line) => line.startsWith('sleep'))).toEqual(['sleep 500', 'sleep 1000', 'sleep 2000', 'sleep 500']);
  });

  it('says since when nothing comes', async () => {
    const down = new ApiError(0, 'the server does not answer');
    const { states } = await run([{ pieces: [event(11)] }, { pieces: [], fails: down }]);
    const cuts = states.filter((state) => state.is === 'cut');
    expect(cuts.length).toBe(2);
    expect(cuts[0]).toMatchObject({ since: (cuts[1] as { since: number }).since });
    expect(cuts[1]).toMatchObject({ why: 'the server does not answer' });
  });

  it('is as old as the last answer of the hub, though the server is there', async () => {
    const here = 'event: now\ndata: {"now":75}\n\n';
    const answered = 'event: now\ndata: {"now":76,"answered":true}\n\n';
    const age = async (pieces: string[]) => {
      const { states } = await run([{ pieces }]);
      return (states.find((state) => state.is === 'cut') as { since: number }).since;
    };
    expect(await age([here, here, here])).toBe(await age([here]));
    expect(await age([here, here, answered])).toBeGreaterThan(await age([here]));
    expect(await age([here, here, event(11)])).toBeGreaterThan(await age([here]));
  });

  it.each([401, 403])('does not try again after %i', async (status) => {
    const { log, states } = await run([{ pieces: [], fails: new ApiError(status, 'no') }]);
    expect(log).toEqual(['snapshot', 'since 10']);
    expect(states.at(-1)).toEqual({ is: 'refused', status, why: 'no' });
  });

  it('tries again where the first snapshot fails', async () => {
    const { log, shown } = await run([{ pieces: [event(11)] }], [new ApiError(503, 'not ready'), snapshot(10)]);
    expect(log.slice(0, 4)).toEqual(['snapshot', 'sleep 1000', 'snapshot', 'since 10']);
    expect(shown).toBe('at 11');
  });
});

describe('the pause', () => {
  it('doubles up to half a minute and is spread', () => {
    expect([0, 1, 2, 20].map((attempt) => pause(attempt, 1))).toEqual([500, 1000, 2000, 30_000]);
    expect(pause(2, 0)).toBe(1000);
  });
});
