import { readFileSync } from 'node:fs';
import { describe, expect, it, vi } from 'vitest';
import type { ClusterRow } from '../store/columns';
import { docsOf, docsOfEvents, setDocsBase } from './docs';
import { sentence, spoken } from './sentence';
import { clusters, percent, percents, printable } from './text';
import { duration, iso, moment, pastMoment } from './time';

describe('times', () => {
  it.each([
    [0, '0s'],
    [40, '40s'],
    [720, '12m'],
    [3600, '1h00m'],
    [80_580, '22h23m'],
    [338_400, '3d22h'],
    [-5, '0s'],
  ])('%i seconds are %s', (seconds, text) => expect(duration(seconds)).toBe(text));
  it('has the date of another day', () => {
    const noon = Date.UTC(2026, 10, 25, 12) / 1000;
    expect(moment(noon, noon)).toBe('12:00');
    expect(moment(noon + 86_400, noon)).toBe('2026-11-26 12:00');
  });
  it('has moments of UTC, wherever the browser is', () => {
    vi.stubEnv('TZ', 'America/Los_Angeles');
    expect(moment(Date.UTC(2026, 10, 25, 2, 5) / 1000, Date.UTC(2026, 10, 25, 12) / 1000)).toBe('02:05');
    vi.unstubAllEnvs();
  });
  it('has moments for machines', () => {
    expect(iso(1_764_072_000)).toBe('2025-11-25T12:00:00Z');
    expect(iso(undefined)).toBe('');
  });
});

describe('texts of clusters', () => {
  it('are cut', () => {
    expect(printable('a'.repeat(10_000)).length).toBe(301);
    expect(printable('abc', 2)).toBe('ab…');
    expect(printable('ab', 2)).toBe('ab');
  });
  it('lose what turns the direction, controls, and has no width', () => expect(printable('\u202egnp.exe\u200b\u0007\u2066x\u2028')).toBe('gnp.exex'));
  it('keep all letters', () => expect(printable('العربية 日本 é <b>')).toBe('العربية 日本 é <b>'));
  it('are not cut within a character', () => expect(printable('🚀🚀🚀', 3)).not.toMatch(/[\ud800-\udbff](?![\udc00-\udfff])/));
});

it('counts', () => {
  expect([clusters(1), clusters(12_000), percent(0.004), percent(0.997), percent(0.5)]).toEqual(['1 cluster', '12,000 clusters', '<1%', '>99%', '50%']);
});

describe('the sentence', () => {
  const NOW = Date.UTC(2026, 10, 25, 12) / 1000;
  const row = (change: Partial<ClusterRow>): ClusterRow => ({
    row: 0,
    name: 'dev1',
    version: '4.17.21',
    state: 'NotStarted',
    reason: 'WaitingForSlot',
    message: 'maxConcurrency is reached',
    upgrade: 'default/spring',
    finding: '',
    labels: '',
    todo: '',
    canary: 0,
    available: 1,
    since: NOW - 600,
    normalUntil: 0,
    windowOpens: 0,
    ...change,
  });
  it('says what it waits for, since when, and that nothing is to be done', () => {
    expect(spoken(row({}), NOW)).toBe('dev1: NotStarted. maxConcurrency is reached, since 11:50 (10m). What to do: nothing.');
  });
  it('says until when that is normal', () => {
    expect(sentence(row({ state: 'PartialUpgrade', normalUntil: NOW + 600 }), NOW)).toMatchObject({ when: 'since 11:50 (10m), normal until 12:10', late: false, todo: 'nothing until then, unless its message asks for it' });
  });
  it('says that it takes too long', () => {
    const said = sentence(row({ state: 'PartialUpgrade', normalUntil: NOW - 300 }), NOW);
    expect(said.when).toContain('normal until 11:55: 5m longer than usual');
    expect(said.late).toBe(true);
    expect(said.todo).toContain('look at the cluster');
  });
  it('does not call late what is over', () => expect(sentence(row({ state: 'Complete', normalUntil: NOW - 300 }), NOW).late).toBe(false));
  it('says when the window opens', () => expect(sentence(row({ windowOpens: NOW + 3600 }), NOW).when).toContain('may start at 13:00'));
  it('has what the server says is to be done', () => expect(sentence(row({ todo: 'retry it' }), NOW).todo).toBe('retry it'));
  it('cuts no command that is to be run', () => {
    const todo = `${'see why it failed; '.repeat(20)}then: kubectl drydock retry overlap --cluster dev22`;
    expect(sentence(row({ todo }), NOW).todo).toBe(todo);
  });
  it('has the reason where there is no message', () => expect(sentence(row({ message: '' }), NOW).what).toBe('WaitingForSlot'));
  it('speaks of clusters without an upgrade', () => expect(sentence(row({ state: '', message: '', since: 0 }), NOW)).toMatchObject({ what: 'no upgrade has it', when: '' }));
  it('says what was left of a cluster that no upgrade has', () =>
    expect(sentence(row({ state: '', message: 'upgrade a/b has left it', since: 0, available: 0 }), NOW)).toMatchObject({ what: 'upgrade a/b has left it; not available' }));
});

describe('links to the docs', () => {
  it('are there if it is known where', () => {
    setDocsBase(undefined);
    expect(docsOf('WaitingForSlot')).toBeUndefined();
    setDocsBase('https://docs.example.com/drydock/');
    expect(docsOf('WaitingForSlot')).toBe('https://docs.example.com/drydock/reasons.html#waitingforslot');
    expect(docsOf('ClustersBlocked')).toBe('https://docs.example.com/drydock/forecasts.html#what-stops-a-rollout');
    expect(docsOfEvents()).toBe('https://docs.example.com/drydock/reference/events.html');
    setDocsBase('https://forge.example.com/drydock/blob/main/docs');
    expect(docsOf('CanaryFailed')).toBe('https://forge.example.com/drydock/blob/main/docs/reasons.md#canaryfailed');
  });
  it('lead to a section or a page that is there for every reason of clusters and upgrades', () => {
    setDocsBase('https://docs.example.com');
    const reasons = ['NotAccepted', 'Progressing', 'UpgradeTimedOut', 'Upgraded', 'ManagedClustersSelected', 'ManagedClustersUpgradeApplied', 'RisksNotAccepted', 'AwaitingPreChecks', 'ClustersBlocked', 'NoClusterFailed', 'AsExpected', 'InvalidSpec', 'PlacementNotFound', 'Frozen', 'Abandoned'];
    for (const reason of reasons) {
      const [page, section] = (docsOf(reason) ?? '').replace('https://docs.example.com/', '').replace('.html', '.md').split('#');
      const text = readFileSync(new URL(`../../../../docs/${page}`, import.meta.url), 'utf8');
      const headings = text.split('\n').filter((line) => line.startsWith('#'));
      const sections = headings.map((line) => line.replace(/^#+ /, '').toLowerCase().replaceAll(' ', '-'));
      if (section !== undefined) expect(sections, reason).toContain(section);
      expect(headings.length, reason).toBeGreaterThan(0);
    }
  });
  it('never run code', () => {
    setDocsBase('javascript:alert(1)');
    expect(docsOf('CanaryFailed')).toBeUndefined();
  });
});

it('what has passed is not to come, though the clock of the page is behind', () => {
  expect(pastMoment(1_000_000, 999_820)).toMatch(/\(0s ago\)$/);
  expect(pastMoment(1_000_000, 1_000_180)).toMatch(/\(3m ago\)$/);
});

it('rounds parts so that they add up to the whole', () => {
  expect(percents([0.895, 0.105])).toEqual(['90%', '10%']);
  expect(percents([0.335, 0.335, 0.33])).toEqual(['34%', '33%', '33%']);
  expect(percents([0.29, 0.57])).toEqual(['29%', '57%']);
  expect(percents([0.995, 0.005])).toEqual(['>99%', '<1%']);
  expect(percents([1])).toEqual(['100%']);
  expect(percents([])).toEqual([]);
});
