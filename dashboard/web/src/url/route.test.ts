import { describe, expect, it } from 'vitest';
import { ALL_CLUSTERS, format, parse, type Route } from './route';

const ROUTES: [string, Route][] = [
  ['#/fleet', { page: 'fleet', query: ALL_CLUSTERS }],
  [
    '#/fleet?view=table&color=version&text=a+b&labels=region%3Deu&state=Failed&upgrade=default%2Fspring&sort=since&order=descending',
    {
      page: 'fleet',
      query: { view: 'table', color: 'version', text: 'a b', labels: 'region=eu', only: { state: 'Failed', upgrade: 'default/spring' }, sort: 'since', descending: true },
    },
  ],
  ['#/fleet?finding=', { page: 'fleet', query: { ...ALL_CLUSTERS, only: { finding: '' } } }],
  ['#/upgrade/default/spring', { page: 'upgrade', key: 'default/spring' }],
  ['#/cluster/%3Cimg%20src%3Dx%2Fy%3E', { page: 'cluster', name: '<img src=x/y>' }],
  ['#/history?text=dev&upgrade=a%2Fb', { page: 'history', text: 'dev', upgrade: 'a/b' }],
  ['#/history', { page: 'history', text: '', upgrade: '' }],
  ['#/plan?upgrade=a%2Fb', { page: 'plan', upgrade: 'a/b' }],
  ['#/plan', { page: 'plan', upgrade: '' }],
];

describe('the address', () => {
  it.each(ROUTES)('%s', (text, route) => {
    expect(format(route)).toBe(text);
    expect(parse(text)).toEqual(route);
  });
  it.each(['', '#', '#/', '#token'])('%s shows the fleet', (text) => {
    expect(parse(text)).toEqual({ page: 'fleet', query: ALL_CLUSTERS });
  });
  it.each(['#/nowhere', '#/upgrade/one', '#/upgrade//', '#/upgrade/a/..%2fb', '#/upgrade/a/..', '#/upgrade/./b', '#/cluster/', '#/cluster/..'])('%s shows no page', (text) => {
    expect(parse(text)).toEqual({ page: 'unknown' });
  });
  it('takes what it does not know for the default', () => {
    expect(parse('#/fleet?color=nonsense&view=3d')).toEqual({ page: 'fleet', query: ALL_CLUSTERS });
  });
  it('keeps a name that is not encoded properly', () => {
    expect(parse('#/cluster/100%')).toEqual({ page: 'cluster', name: '100%' });
  });
});

it.each(['x/../../session', '../x', 'x', 'a/b/c', '/b'])('%s is the key of no upgrade', (key) => {
  expect(parse(`#/plan?upgrade=${encodeURIComponent(key)}`)).toEqual({ page: 'plan', upgrade: '' });
});
