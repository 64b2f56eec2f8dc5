import { describe, expect, it } from 'vitest';
import { ClusterTable } from '../store/columns';
import { columns } from '../store/test-columns';
import { ALL_CLUSTERS, type FleetQuery } from '../url/route';
import { coloring } from './coloring';
import { filterRows } from './filter';
import { sortRows } from './sort';

const NOW = 10_000;

function table(): ClusterTable {
  const of = columns([
    { name: 'dev1', state: 'NotStarted', message: 'Waits for a slot', since: 30 },
    { name: 'dev2', state: 'Failed', message: 'etcd-backup failed', since: 10 },
    { name: 'prod1', state: 'Complete', since: 20 },
    { name: 'prod2', state: '' },
  ]);
  const word = (text: string) => of.words.push(text) - 1;
  of.labels = [word('region=eu,tier=gold'), word('region=us'), of.words.length - 2, 0];
  of.windowOpens = [NOW + 60, 0, NOW + 90_000, NOW - 5];
  of.finding = [word('Warning'), 0, word('Error'), 0];
  of.version = [word('4.18.9'), word('4.17.21'), word('4.18.10'), 0];
  const found = new ClusterTable();
  found.load(of);
  return found;
}

function names(change: Partial<FleetQuery>): string[] {
  const of = table();
  return [...filterRows(of, { ...ALL_CLUSTERS, ...change }, NOW).rows].map((row) => of.name[row] as string);
}

describe('the filter', () => {
  it('shows all without one', () => expect(names({})).toEqual(['dev1', 'dev2', 'prod1', 'prod2']));
  it.each([
    [{ text: 'DEV' }, ['dev1', 'dev2']],
    [{ text: 'dev slot' }, ['dev1']],
    [{ text: 'backup' }, ['dev2']],
    [{ text: 'tier=gold' }, ['dev1', 'prod1']],
    [{ text: 'nothing has this' }, []],
    [{ labels: 'region=eu' }, ['dev1', 'prod1']],
    [{ labels: 'region!=eu' }, ['dev2', 'prod2']],
    [{ labels: 'region in (eu, us),!tier' }, ['dev2']],
    [{ labels: 'tier' }, ['dev1', 'prod1']],
    [{ labels: 'tier notin (gold)' }, ['dev2', 'prod2']],
    [{ only: { state: 'Failed' } }, ['dev2']],
    [{ only: { state: '' } }, ['prod2']],
    [{ only: { state: 'NoSuchState' } }, []],
    [{ only: { window: 'hour' } }, ['dev1']],
    [{ only: { window: 'none' } }, ['dev2', 'prod2']],
    [{ only: { state: 'InFlight' } }, []],
    [{ only: { window: 'week' } }, ['prod1']],
    [{ only: { finding: 'Error' }, text: 'prod' }, ['prod1']],
  ] satisfies [Partial<FleetQuery>, string[]][])('%o', (query, expected) => expect(names(query)).toEqual(expected));

  it('says what is wrong with a selector, and leaves it out', () => {
    const found = filterRows(table(), { ...ALL_CLUSTERS, labels: 'region=eu,)(' }, NOW);
    expect(found.error).toContain('is not a label selector');
    expect(found.rows.length).toBe(4);
  });
});

describe('the order', () => {
  const sorted = (column: string, descending = false) => {
    const of = table();
    return [...sortRows(of, Uint32Array.of(0, 1, 2, 3), column, descending)].map((row) => of.name[row]);
  };
  it('is that of names', () => expect(sorted('name', true)).toEqual(['prod2', 'prod1', 'dev2', 'dev1']));
  it('is that of a rollout for states', () => expect(sorted('state')).toEqual(['dev1', 'prod1', 'dev2', 'prod2']));
  it('is natural for versions', () => expect(sorted('version')).toEqual(['prod2', 'dev2', 'dev1', 'prod1']));
  it('is that of numbers for times', () => expect(sorted('since', true)).toEqual(['dev1', 'prod1', 'dev2', 'prod2']));
  it('has the worst findings first', () => expect(sorted('finding')[0]).toBe('prod1'));
});

describe('the legend', () => {
  const legend = (mode: 'state' | 'version' | 'window' | 'finding' | 'upgrade') => {
    const of = table();
    return coloring(of, filterRows(of, ALL_CLUSTERS, NOW).rows, mode, NOW).legend.map((entry) => `${entry.label} ${entry.count}`);
  };
  it('counts states', () => expect(legend('state')).toEqual(['NotStarted 1', 'Complete 1', 'Failed 1', 'no upgrade 1']));
  it('has the newest version first', () => expect(legend('version')).toEqual(['4.18.10 1', '4.18.9 1', '4.17.21 1', 'not known 1']));
  it('counts windows', () => expect(legend('window')).toEqual(['opens within an hour 1', 'opens within a week 1', 'does not wait to start 2']));
  it('takes neither a soak nor what fits nowhere for a window that opens', () => {
    const of = columns(['AwaitingStartWindow', 'CanarySoaking', 'NeverFits'].map((reason, i) => ({ name: `c${i}`, state: 'NotStarted', reason })));
    of.windowOpens = [NOW + 60, NOW + 60, 0];
    const waiting = new ClusterTable();
    waiting.load(of);
    const { legend: entries } = coloring(waiting, Uint32Array.of(0, 1, 2), 'window', NOW);
    expect(entries.map((entry) => `${entry.label} ${entry.count}`)).toEqual(['waits for no start window now 1', 'opens within an hour 1', 'fits in no start window 1']);
  });
  it('counts findings', () => expect(legend('finding')).toEqual(['Error 1', 'Warning 1', 'no open finding 2']));

  it('shares a color among versions beyond the eighth', () => {
    const rows = Array.from({ length: 30 }, (_, i) => ({ name: `c${i}` }));
    const of = columns(rows);
    of.version = rows.map((_, i) => of.words.push(`4.${Math.min(i, 11)}.0`) - 1);
    const many = new ClusterTable();
    many.load(of);
    const { legend: entries } = coloring(many, Uint32Array.from(rows.keys()), 'version', NOW);
    expect(entries.length).toBe(9);
    expect(entries.at(-1)).toMatchObject({ label: 'others', value: undefined });
    expect(entries.reduce((sum, entry) => sum + entry.count, 0)).toBe(30);
  });
});
