import { describe, expect, it } from 'vitest';
import { preChecksMode, readManifest } from './manifest';

const SPRING = `# The production fleet
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: ManagedClustersUpgrade
metadata:
  labels:
    name: not-this
  finalizers:
  - name: nor-this
  annotations: {name: nor-this}
  name: "spring" # in quotes
  namespace: default
spec:
  clusterSelector:
    clusterSets: [production]
  preUpgradeAction:
    script: |
      metadata:
        name: other
    message: "two\\nlines"
  clusterVersion:
    channel: stable-4.18
    version: '4.18.9'
  preChecks: {mode: Require}
`;

describe('a manifest', () => {
  it('says which upgrade it is', () =>
    expect(readManifest(SPRING)).toEqual({ name: 'spring', namespace: 'default', target: '4.18.9 stable-4.18', allOperators: false, preChecks: 'Require' }));
  it('may be JSON', () =>
    expect(readManifest('{"metadata": {"name": "spring"}, "spec": {"clusterVersion": {"image": "quay.io/x@sha256:1"}}}')).toEqual({
      name: 'spring',
      target: 'quay.io/x@sha256:1',
      allOperators: false,
    }));
  it('may approve the upgrades of all operators', () => {
    const all = 'metadata:\n  name: a\nspec:\n  ocpOperators:\n    approveAllUpgrades: true\n';
    expect(readManifest(all)).toMatchObject({ target: '', allOperators: true });
    expect(readManifest('{"metadata": {"name": "a"}, "spec": {"ocpOperators": {"approveAllUpgrades": true}}}')).toMatchObject({ allOperators: true });
  });
  it('may be in one line each', () => expect(readManifest('---\nmetadata: {name: spring, namespace: a}\nspec: {}')).toMatchObject({ name: 'spring', namespace: 'a', target: '' }));
  it.each([
    ['', 'nothing'],
    ['just words', 'no mapping'],
    ['metadata:\n  namespace: a\n', 'no name'],
    ['metadata:\n  name: a\n  name: b\n', 'a name twice'],
    ['metadata:\n  name: a\nmetadata:\n  namespace: b\n', 'metadata twice'],
    ['metadata: &m\n  name: a\n', 'an anchor'],
    ['metadata:\n  <<: *m\n  name: a\n', 'a merge'],
    ['metadata:\n  name: a\n---\nmetadata:\n  name: b\n', 'two documents'],
    ['metadata:\n  name: >\n    a\n', 'a folded name'],
    ['metadata:\n  name: "a\\u0062"\n', 'an escape'],
    ['metadata: {name: a,\n  namespace: b}\n', 'a mapping of two lines'],
    ['{"metadata": {"name": "a"}', 'JSON that does not end'],
    ['metadata:\n  "n\\x61me": leave\n  annotations: {a: "\n  name: octk\n     "}\n  namespace: default\n', 'a name in a text that goes on'],
    ['metadata:\n  name: a\nspec:\n  clusterVersion:\n    "v\\x65rsion": 4.14.13\n', 'a key with an escape'],
    ['metadata:\n  labels:\n    a: "b\n  name: a\n"\n', 'a quote that goes on'],
    ['metadata:\n  name: a\nspec:\n  list:\n  - "x\n  clusterVersion: {version: 4}\n  "\n', 'an item that goes on'],
    ['- metadata:\n    name: a\n', 'a list'],
    ['metadata:\n  name: a\n  namespace:\n    dev\n', 'a namespace on the next line'],
    ['metadata:\n  name: a\nspec:\n  clusterVersion:\n    channel: c\n    version:\n      4.14.13\n', 'a version on the next line'],
    ['metadata:\n  name: a\n    b\n', 'a name that goes on'],
    ['metadata:\n  {name: a}\n', 'a mapping on the next line'],
    ['metadata:\n  name: a # b\r  namespace: c\n', 'a line that another sign breaks'],
    ['{"metadata\\nname": "a"}', 'a key with a line break'],
    ['metadata:\n  name: a\nspec:\n  ocpOperators:\n    approveAllUpgrades: yes\n', 'another word for true'],
    ['metadata:\n  name: a\nspec:\n  ocpOperators: {approveAllUpgrades: on}\n', 'another word for true'],
  ])('%j is not read: %s', (text) => expect(readManifest(text)).toBeUndefined());
});

it('what follows from findings is Report, if nothing else is said', () => {
  expect(preChecksMode(SPRING)).toBe('Require');
  expect(preChecksMode('metadata:\n  name: a\nspec:\n  preChecks:\n    maxAge: 1h\n')).toBe('Report');
  expect(preChecksMode('not known')).toBeUndefined();
});
