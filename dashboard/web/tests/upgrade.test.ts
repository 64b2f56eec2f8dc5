import type { Page, Route } from '@playwright/test';
import { expect, test } from './fixtures';

/** The next request to an address, which waits for its answer. */
async function hold(page: Page, address: string): Promise<Route> {
  let sent = (_: Route) => {};
  const request = new Promise<Route>((resolve) => (sent = resolve));
  await page.route(address, sent, { times: 1 });
  return request;
}

test('an upgrade shows what it does and what holds it back', async ({ dashboard: { page, open } }) => {
  await open('#/upgrade/default/spring');
  await expect(page.getByRole('heading', { level: 1 })).toContainText('default/spring');
  for (const section of ['When it ends', 'What holds it back', 'Failures', 'In flight', 'Canaries', 'Findings', 'Halts', 'Conditions', 'Events']) {
    await expect(page.getByRole('heading', { level: 2, name: section })).toBeVisible();
  }
  await expect(page.locator('.chart canvas')).toBeVisible();
  await expect(page.getByText(/in half of the runs that end/)).toBeVisible();
  await expect(page.getByRole('region', { name: 'Clusters in flight' }).getByRole('row')).toHaveCount(8);
  await expect(page.getByRole('link', { name: 'OperatorsTimedOut (docs, new tab)' })).toHaveAttribute('href', /reasons.html#operatorstimedout$/);
});

test('no more than the page scrolls', async ({ dashboard: { page, open } }) => {
  await open('#/upgrade/default/spring');
  await page.getByRole('main').hover();
  await page.mouse.wheel(0, 20_000);
  await expect(page.getByRole('heading', { level: 2, name: 'Events' })).toBeInViewport();
  await page.mouse.wheel(0, 20_000);
  expect(await page.evaluate(() => document.documentElement.scrollHeight - innerHeight)).toBe(0);
});

test('what has happened since the server read the Events is asked for once more', async ({ dashboard: { page, open, misuse, server } }) => {
  let age = 0;
  await page.route('**/api/upgrades/default/spring', async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, json: { ...(await response.json()), eventsAge: age } });
    age = 9;
  });
  await open('#/upgrade/default/spring');
  await expect(page.getByRole('heading', { level: 2, name: 'Events' })).toBeVisible();
  const asked = () => server.state.asked.filter((line) => line.startsWith('GET /api/upgrades/default/spring') && !line.includes('forecast')).length;
  expect(asked()).toBe(1);
  await misuse('step');
  // Once for the change, whose answer has old Events, and once more for these.
  await expect.poll(asked).toBe(2);
  age = 0;
  await expect.poll(asked).toBe(3);
  await page.unrouteAll({ behavior: 'ignoreErrors' });
});

test('what of it could not be read is said, and all else is shown', async ({ dashboard: { page, open } }) => {
  await page.route('**/api/upgrades/default/spring', async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, json: { ...(await response.json()), events: undefined, unread: ['listing the Events: request timed out'] } });
  });
  await open('#/upgrade/default/spring');
  await expect(page.getByText('listing the Events: request timed out')).toBeVisible();
  await expect(page.getByRole('heading', { level: 2, name: 'In flight' })).toBeVisible();
  await page.unrouteAll({ behavior: 'ignoreErrors' });
});

test('a narrow page says which hub it shows, and as whom', async ({ dashboard: { page, open } }) => {
  await page.setViewportSize({ width: 320, height: 700 });
  await open('#/fleet');
  await expect(page.locator('.where')).toBeVisible();
  await expect(page.locator('.who')).toBeInViewport();
  expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBe(0);
});

test('one that is being deleted can be neither paused nor resumed', async ({ dashboard: { page, open } }) => {
  const deleting = { phase: 'Deleting', paused: true };
  await page.route('**/api/snapshot', async (route) => {
    const response = await route.fetch();
    const answer = await response.json();
    await route.fulfill({ response, json: { ...answer, upgrades: answer.upgrades.map((upgrade: object) => ({ ...upgrade, ...deleting })) } });
  });
  await page.route('**/api/upgrades/default/spring', async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, json: { ...(await response.json()), ...deleting } });
  });
  await open('#/upgrade/default/spring');
  await expect(page.getByText('deleting', { exact: true })).toBeVisible();
  await expect(page.getByRole('button', { name: /^(Pause|Resume)…/ })).toHaveCount(0);
  // What is still on its way when the test ends may fail: the page goes away.
  await page.unrouteAll({ behavior: 'ignoreErrors' });
});

test('pause asks first, says what it will do, and resume is offered then', async ({ dashboard: { page, open, server } }) => {
  await open('#/upgrade/default/spring');
  await page.getByRole('button', { name: 'Pause…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Pause this upgrade?' });
  await expect(dialog).toContainText('No other cluster of default/spring starts until it is resumed.');
  await expect(dialog).toContainText('7 clusters in flight continue to their end');
  await page.keyboard.press('Escape');
  await expect(dialog).toBeHidden();
  expect(server.state.asked.filter((line) => line.startsWith('POST'))).toEqual([]);
  await expect(page.getByRole('button', { name: 'Pause…' })).toBeFocused();
  await page.keyboard.press('Enter');
  await dialog.getByRole('button', { name: 'Pause' }).click();
  await expect(dialog.getByRole('status')).toContainText('default/spring paused');
  await expect(dialog.getByRole('button', { name: 'Close' })).toBeFocused();
  await dialog.getByRole('button', { name: 'Close' }).click();
  await expect(page.getByRole('button', { name: 'Resume…' })).toBeVisible();
  await expect(page.locator('.progress-card')).toContainText('Paused');
  await page.getByRole('button', { name: 'Resume…' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Resume' }).click();
  await expect(page.getByRole('dialog')).toContainText('default/spring resumed');
});

test('what was edited while somebody was asked is not resumed', async ({ dashboard: { page, open, server, misuse } }) => {
  server.state.fleet.paused.add('default/spring');
  await open('#/upgrade/default/spring');
  await page.getByRole('button', { name: 'Resume…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Resume this upgrade?' });
  await expect(dialog).toContainText('Clusters of default/spring start again to 4.18.9, as its strategy allows: ');
  server.state.fleet.edited('default/spring');
  await dialog.getByRole('button', { name: 'Resume' }).click();
  await expect(dialog.getByRole('alert')).toContainText('has been edited since you were asked');
  expect(server.state.fleet.paused.has('default/spring')).toBe(true);
  await misuse('step');
  await expect(dialog).toContainText('Somebody has changed this upgrade meanwhile: nothing will be done.');
});

test('what fails while somebody is asked is not retried', async ({ dashboard: { page, open, server } }) => {
  await open('#/upgrade/default/spring');
  await page.getByRole('button', { name: 'Retry…', exact: true }).click();
  const dialog = page.getByRole('dialog', { name: /^Retry \d+ clusters?\?$/ });
  await expect(dialog).toBeVisible();
  const { fleet } = server.state;
  const other = fleet.of('default/spring').find(({ state }) => state === 'NotStarted');
  if (other) other.state = 'Failed';
  await dialog.getByRole('button', { name: 'Retry' }).click();
  await expect(dialog.getByRole('alert')).toContainText('other clusters of default/spring have failed');
  expect(other?.state).toBe('Failed');
});

test('who cannot see the page hears what has become different', async ({ dashboard: { page, open, server, misuse } }) => {
  await open('#/upgrade/default/spring');
  const said = page.getByRole('status').filter({ hasText: /failed$/ });
  await expect(said).toHaveText(/^InProgress; \d+ clusters? failed$/);
  server.state.fleet.paused.add('default/spring');
  await misuse('step');
  await expect(said).toHaveText(/^Paused; \d+ clusters? failed$/);
  await expect(page.getByRole('table', { name: 'Clusters in flight' })).toBeVisible();
  await expect(page.getByRole('table', { name: 'Events' })).toBeVisible();
});

test('retry of one cluster', async ({ dashboard: { page, open, server } }) => {
  await open('#/upgrade/default/spring');
  await page.getByRole('button', { name: 'Retry fra-dev-3' }).click();
  await expect(page.getByRole('dialog')).toContainText('fra-dev-3 starts over to 4.18.9');
  await page.getByRole('dialog').getByRole('button', { name: 'Retry' }).click();
  await expect(page.getByRole('dialog')).toContainText('fra-dev-3 starts over');
  expect(server.state.fleet.clusters.get('fra-dev-3')?.state).toBe('NotStarted');
});

test('a refusal is said', async ({ dashboard: { page, open, server } }) => {
  await open('#/upgrade/default/spring');
  server.state.forbidden = '/api/upgrades/default/spring/retry';
  await page.getByRole('button', { name: 'Retry…', exact: true }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Retry' }).click();
  await expect(page.getByRole('dialog').getByRole('alert')).toContainText('You may not do this');
  await expect(page.getByRole('dialog').getByRole('button', { name: 'Retry' })).toBeFocused();
});

test('what agents have not confirmed yet is said, and as what it can be accepted', async ({ dashboard: { page, open } }) => {
  await page.route('**/api/upgrades/default/spring', async (route) => {
    const response = await route.fetch();
    const detail = await response.json();
    Object.assign(detail.findings[0], { unconfirmed: 2, uid: 'budget-at-limit' });
    await route.fulfill({ response, json: detail });
  });
  await open('#/upgrade/default/spring');
  await expect(page.getByText('accepted on 2 clusters, and counts there when the agents have confirmed it')).toBeVisible();
  await expect(page.getByText('/budget-at-limit')).toBeVisible();
});

test('accepting needs a reason', async ({ dashboard: { page, open, server } }) => {
  await open('#/upgrade/default/spring');
  await page.getByRole('button', { name: /^Accept: budget monitoring/ }).click();
  const dialog = page.getByRole('dialog', { name: 'Accept this finding?' });
  await expect(dialog).toContainText('It no longer holds back 1 cluster of default/spring');
  await expect(dialog).toContainText('on the 1 cluster that reports it, up to its level as reported now');
  await expect(dialog.getByRole('button', { name: 'Accept' })).toBeDisabled();
  await dialog.getByLabel('Reason').fill('lifted in the window');
  await dialog.getByRole('button', { name: 'Accept' }).click();
  await expect(dialog).toContainText('budget-at-limit accepted by ann@example.com');
  expect(server.state.fleet.accepted[0]).toMatchObject({ finding: 'budget-at-limit', reason: 'lifted in the window' });
});

test('what accepting does depends on the mode of the pre-checks', async ({ dashboard: { page, open, server } }) => {
  const accept = page.getByRole('button', { name: /^Accept: budget monitoring/ });
  const dialog = page.getByRole('dialog', { name: 'Accept this finding?' });
  server.state.fleet.preChecks = 'Report';
  await open('#/upgrade/default/spring');
  await accept.click();
  await expect(dialog).toContainText('It holds back no cluster of default/spring: with preChecks.mode Report clusters start whatever they have found.');
  await expect(dialog).not.toContainText('no longer holds back');
});

test.describe('who may only read', () => {
  test.use({ readOnly: true });
  test('sees no actions', async ({ dashboard: { page, open } }) => {
    await open('#/upgrade/default/spring');
    await expect(page.getByRole('heading', { level: 2, name: 'Failures' })).toBeVisible();
    await expect(page.getByRole('button', { name: /Pause|Resume|Retry|Accept/ })).toHaveCount(0);
    await page.goto(page.url().replace(/#.*/, '#/plan'));
    await expect(page.getByRole('button', { name: /Apply/ })).toHaveCount(0);
  });
});

test('a plan is compared with another, and applied', async ({ dashboard: { page, open, server } }) => {
  await open('#/plan?upgrade=default/spring');
  await expect(page.getByLabel('ManagedClustersUpgrade (YAML)')).toHaveValue(/kind: ManagedClustersUpgrade/);
  await page.getByRole('button', { name: 'Forecast' }).click();
  await expect(page.getByText('(median)')).toBeVisible();
  await page.getByRole('button', { name: 'Compare with another strategy' }).click();
  await expect(page.getByText('edited since this forecast')).toHaveCount(0);
  await page.getByLabel('Another strategy').fill('maxConcurrency: 10');
  await page.getByRole('button', { name: 'Forecast' }).click();
  await expect(page.getByRole('heading', { name: 'Two strategies' })).toBeVisible();
  await expect(page.getByText('The texts are of two upgrades.')).toHaveCount(0);
  await expect(page.locator('.chart canvas')).toBeVisible();
  await expect(page.getByText('Not confident')).toBeVisible();
  expect(server.state.asked).not.toContain('POST /api/apply');
  const dialog = page.getByRole('dialog', { name: 'Apply the first text?' });
  await page.getByRole('button', { name: 'Apply the first…' }).click();
  await expect(dialog).toContainText('the first one, on the left');
  await expect(dialog).toContainText('It changes default/spring, which is there, with 31 of 88 clusters complete and 7 in flight. Its target stays 4.18.9 stable-4.18.');
  await expect(dialog).not.toContainText('There is no forecast');
  await dialog.getByRole('button', { name: 'Apply' }).click();
  await expect(dialog).toContainText('default/spring applied');
});

test('the text that is compared can be applied, and a new upgrade is named as one', async ({ dashboard: { page, open } }) => {
  await open('#/plan?upgrade=default/spring');
  await expect(page.getByLabel('ManagedClustersUpgrade (YAML)')).toHaveValue(/name: spring/);
  await page.getByRole('button', { name: 'Compare with another strategy' }).click();
  await page.getByLabel('Another strategy').fill('metadata: {name: autumn, namespace: south}\nspec:\n  clusterVersion: {version: 4.18.10}');
  const sent = page.waitForRequest('**/api/apply');
  await page.getByRole('button', { name: 'Apply the second…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Apply the second text?' });
  await expect(dialog).toContainText('the second one, on the right');
  await expect(dialog).toContainText('It creates south/autumn to 4.18.10: no upgrade of this name is there.');
  await expect(dialog).toContainText('There is no forecast of it as it is now.');
  await dialog.getByRole('button', { name: 'Apply' }).click();
  const body = (await sent).postDataJSON();
  expect(body.yaml).toContain('autumn');
  // Another upgrade than was opened: nothing of that is edited, and nothing is written over that has come since.
  expect(body.seen).toBe('');
});

test('applying a text says from which upgrades it takes clusters', async ({ dashboard: { page, open } }) => {
  await open('#/plan?upgrade=default/spring');
  await expect(page.getByLabel('ManagedClustersUpgrade (YAML)')).toHaveValue(/name: spring/);
  await page.getByRole('button', { name: 'Forecast' }).click();
  const sentence = '5 clusters wait in the earlier upgrade default/autumn, too: one that starts here first is left out there, for good.';
  await expect(page.getByRole('main')).toContainText(sentence);
  await page.getByRole('button', { name: 'Apply…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Apply this upgrade?' });
  await expect(dialog).toContainText('It takes clusters from other upgrades.');
  await expect(dialog).toContainText(sentence);
});

test('a forecast that did not come can be asked for again', async ({ dashboard: { page, open } }) => {
  let isAway = true;
  await page.route('**/api/upgrades/default/spring/forecast', (route) => (isAway ? route.abort() : route.continue()));
  await open('#/upgrade/default/spring');
  const alert = page.locator('.pf-v6-c-alert', { hasText: 'There is no forecast.' });
  await expect(alert).toBeVisible();
  isAway = false;
  await alert.getByRole('button', { name: 'Try again' }).click();
  await expect(alert).toBeHidden();
});

test('each of two texts is forecast as the upgrade that it names', async ({ dashboard: { page, open } }) => {
  await open('#/plan?upgrade=default/spring');
  await expect(page.getByLabel('ManagedClustersUpgrade (YAML)')).toHaveValue(/name: spring/);
  await page.getByRole('button', { name: 'Compare with another strategy' }).click();
  await page.getByLabel('Another strategy').fill('metadata: {name: autumn, namespace: south}\nspec:\n  clusterVersion: {version: 4.18.10}');
  await page.getByRole('button', { name: 'Forecast' }).click();
  await expect(page.getByRole('heading', { name: 'Second: south/autumn to 4.18.10' })).toBeVisible();
  await expect(page.getByText('The texts are of two upgrades. Each is forecast as if the other were not applied.')).toBeVisible();
  await page.getByRole('button', { name: 'Apply the second…' }).click();
  await expect(page.getByRole('dialog', { name: 'Apply the second text?' })).toContainText('By its forecast it stops');
});

test('what applying does is said as the server has tried it', async ({ dashboard: { page, open, server } }) => {
  await open('#/plan');
  const dialog = page.getByRole('dialog', { name: 'Apply this upgrade?' });
  const image = `quay.io/x@sha256:${'b'.repeat(64)}`;
  for (const [preview, said] of [
    [{ target: '4.18.10', targetBefore: '4.18.9', changes: [{ field: 'spec.paused', before: 'true' }, { field: 'spec.upgradeStrategy.maxConcurrency', after: '10' }], more: 1 }, 'Its target is 4.18.9 now, and becomes 4.18.10. Clusters that are in flight go on to the target that they started with. Then they start over'],
    [{ target: '', targetBefore: '4.18.9' }, 'Its target is 4.18.9 now, and becomes none.'],
    [{ target: '4.18.9' }, 'It creates default/spring to 4.18.9: no upgrade of this name is there.'],
    [{ target: '', allOperators: true }, 'no upgrade of this name is there. It approves the upgrades of all operators'],
    [{ target: `4.18.9 ${image}`, targetBefore: '4.18.9' }, `becomes 4.18.9 ${image}.`],
    [{ target: '4.18.9', targetBefore: '4.18.9' }, 'Nothing of it becomes different.'],
    [{ target: '4.18.9', targetBefore: '4.18.9', staysPaused: true }, 'a pause by hand stays until somebody resumes it'],
  ] as const) {
    await page.route('**/api/preview', (route) => route.fulfill({ json: { key: 'default/spring', edits: false, seen: 'a', staysPaused: false, allOperators: false, changes: [], more: 0, ...preview } }));
    await page.getByLabel('ManagedClustersUpgrade (YAML)').fill('metadata: {name: spring}');
    await page.getByRole('button', { name: 'Apply…' }).click();
    await expect(dialog).toContainText(said);
    if ('more' in preview) {
      const rows = dialog.getByRole('row');
      await expect(rows).toHaveText(['FieldNowThen', 'spec.pausedtruenot set', 'spec.upgradeStrategy.maxConcurrencynot set10', 'and 1 more, which are not shown']);
      await expect(dialog).toContainText('1 of the fields that become different are not shown');
      await expect(dialog.getByRole('button', { name: 'Apply' })).toBeDisabled();
    }
    await dialog.getByRole('button', { name: 'Cancel' }).click();
  }
  expect(server.state.asked).not.toContain('POST /api/apply');
});

test('what the hub would refuse is said before it is applied', async ({ dashboard: { page, open, server } }) => {
  await open('#/plan');
  await page.getByLabel('ManagedClustersUpgrade (YAML)').fill('metadata: {}');
  await page.getByRole('button', { name: 'Apply…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Apply this upgrade?' });
  await expect(dialog).toContainText('It cannot be applied.');
  await expect(dialog).toContainText('it has no metadata.name');
  await expect(dialog.getByRole('button', { name: 'Apply' })).toBeDisabled();
  expect(server.state.asked).not.toContain('POST /api/apply');
});

test('an answer that is lost leaves it open whether it was done', async ({ dashboard: { page, open, server } }) => {
  await open('#/upgrade/default/spring');
  await page.route('**/pause', async (route) => {
    await route.fetch();
    await route.abort('connectionreset');
  });
  await page.getByRole('button', { name: 'Pause…' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'Pause' }).click();
  await expect(dialog).toContainText('It is not known whether it was done');
  expect(server.state.fleet.paused.has('default/spring')).toBe(true);
});

for (const [what, end, title, text] of [
  ['a refusal', (route: Route) => route.fulfill({ status: 403, json: { error: 'ann may not patch it' } }), 'Pause: It was not done.', 'You may not do this: ann may not patch it'],
  ['an answer that is lost', (route: Route) => route.abort('connectionreset'), 'Pause: It is not known whether it was done: look before you do it again.', 'the server does not answer'],
] as const) {
  test(`${what} is said also to who has closed the question before`, async ({ dashboard: { page, open } }) => {
    await open('#/upgrade/default/spring');
    const sent = hold(page, '**/pause');
    await page.getByRole('button', { name: 'Pause…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Pause this upgrade?' });
    await dialog.getByRole('button', { name: 'Pause' }).click();
    await expect(dialog.getByRole('button', { name: 'One moment…' })).toBeDisabled();
    await page.keyboard.press('Escape');
    await expect(dialog).toBeHidden();
    await end(await sent);
    const outcome = page.getByRole('alertdialog', { name: title });
    await expect(outcome).toContainText(text);
    await expect(outcome.getByRole('button', { name: 'Close' })).toBeFocused();
    await page.keyboard.press('Enter');
    await expect(outcome).toBeHidden();
    await expect(page.getByRole('button', { name: 'Pause…' })).toBeFocused();
  });
}

test('a refusal that comes late takes no other question away, and a success is not said', async ({ dashboard: { page, open, misuse } }) => {
  await open('#/upgrade/default/spring');
  const pause = async () => {
    const sent = hold(page, '**/pause');
    await page.getByRole('button', { name: 'Pause…' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Pause' }).click();
    await page.keyboard.press('Escape');
    await expect(page.getByRole('dialog')).toBeHidden();
    return sent;
  };
  const refused = await pause();
  await page.getByRole('button', { name: /^Accept: budget monitoring/ }).click();
  const other = page.getByRole('dialog', { name: 'Accept this finding?' });
  await other.getByLabel('Reason').fill('lifted');
  await refused.fulfill({ status: 409, json: { error: 'it is another one' } });
  const outcome = page.getByRole('alertdialog');
  await expect(outcome).toContainText('it is another one');
  await outcome.getByRole('button', { name: 'Close' }).click();
  await expect(outcome).toHaveCount(0);
  await expect(other.getByLabel('Reason')).toHaveValue('lifted');
  await expect(other.getByLabel('Reason')).toBeFocused();
  await page.keyboard.press('Escape');
  const done = await pause();
  await Promise.all([page.waitForResponse('**/pause'), done.fulfill({ json: { done: 'default/spring paused' } })]);
  await misuse('step');
  await expect(page.getByRole('button', { name: 'Pause…' })).toBeEnabled();
  await expect(page.locator('dialog')).toHaveCount(0);
});

test('fields of others are taken over only by who says so', async ({ dashboard: { page, open } }) => {
  await open('#/plan');
  await page.getByLabel('ManagedClustersUpgrade (YAML)').fill('metadata:\n  name: spring\n  namespace: default\nspec:\n  clusterVersion:\n    version: 4.18.10\n');
  await page.getByRole('button', { name: 'Apply…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Apply this upgrade?' });
  const apply = dialog.getByRole('button', { name: 'Apply' });
  await expect(dialog).toContainText('conflict with "kubectl-client-side-apply"');
  await expect(apply).toBeDisabled();
  await dialog.getByRole('checkbox').check();
  await expect(dialog).toContainText('Its target is 4.18.9 now, and becomes 4.18.10.');
  await apply.click();
  await expect(dialog).toContainText('default/spring applied');
});

test('what somebody has changed meanwhile is not written over', async ({ dashboard: { page, open, server } }) => {
  await open('#/plan?upgrade=default/spring');
  const editor = page.getByLabel('ManagedClustersUpgrade (YAML)');
  await expect(editor).toHaveValue(/name: spring/);
  const dialog = page.getByRole('dialog', { name: 'Apply this upgrade?' });
  await page.getByRole('button', { name: 'Apply…' }).click();
  await expect(dialog).toContainText('as kubectl edit does');
  server.state.fleet.paused.add('default/spring');
  await dialog.getByRole('button', { name: 'Apply' }).click();
  await expect(dialog).toContainText('since you opened it');
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('button', { name: 'Apply…' }).click();
  await expect(dialog).toContainText('since you opened it');
  await expect(dialog.getByRole('button', { name: 'Apply' })).toBeDisabled();
  await expect(dialog.getByRole('checkbox')).toHaveCount(0);
});

test('who goes on editing has seen what was written, and not what came after it', async ({ dashboard: { page, open } }) => {
  await open('#/plan?upgrade=default/spring');
  const editor = page.getByLabel('ManagedClustersUpgrade (YAML)');
  await expect(editor).toHaveValue(/name: spring/);
  const sent: unknown[] = [];
  const preview = { key: 'default/spring', edits: true, seen: 'a', target: '4.14.13', targetBefore: '4.14.13', allOperators: false, changes: [], more: 0 };
  await page.route('**/api/preview', (route) => route.fulfill({ json: preview }));
  await page.route('**/api/apply', async (route) => {
    sent.push(route.request().postDataJSON().opened.edition);
    await route.fulfill({ json: { done: 'default/spring configured', edition: 'that-was-written' } });
  });
  for (const version of ['4.14.13', '4.14.14']) {
    await editor.fill((await editor.inputValue()).replace(/version: \S+/, `version: ${version}`));
    await page.getByRole('button', { name: 'Apply…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Apply this upgrade?' });
    await dialog.getByRole('button', { name: 'Apply' }).click();
    await expect(dialog).toContainText('configured');
    await dialog.getByRole('button', { name: 'Close' }).click();
  }
  expect(sent).toEqual([expect.any(String), 'that-was-written']);
});

test('a text that was changed is kept while one looks elsewhere, and the browser asks before it is lost', async ({ dashboard: { page, open } }) => {
  await open('#/plan?upgrade=default/spring');
  const editor = page.getByLabel('ManagedClustersUpgrade (YAML)');
  await expect(editor).toHaveValue(/name: spring/);
  await page.getByRole('link', { name: 'History', exact: true }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'History' })).toBeVisible();
  await page.goBack();
  await expect(editor).toHaveValue(/name: spring/);
  await expect(page.getByText('This is the text as you left it.')).toBeHidden();
  await editor.fill('metadata:\n  name: mine\n');
  await page.getByRole('link', { name: 'History', exact: true }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'History' })).toBeVisible();
  await page.goBack();
  await expect(editor).toHaveValue('metadata:\n  name: mine\n');
  await expect(page.getByText('This is the text as you left it.')).toBeVisible();
  const asks = page.waitForEvent('dialog');
  await page.close({ runBeforeUnload: true });
  expect((await asks).type()).toBe('beforeunload');
  await page.getByRole('button', { name: 'Discard it' }).click();
  await expect(editor).toHaveValue(/name: spring/);
});

test('a text that is left while somebody changes its upgrade is said to be old, and can be discarded', async ({ dashboard: { page, open } }) => {
  await open('#/plan?upgrade=default/spring');
  const editor = page.getByLabel('ManagedClustersUpgrade (YAML)');
  await expect(editor).toHaveValue(/name: spring/);
  await editor.fill('metadata:\n  name: mine\n');
  await page.getByRole('link', { name: 'History', exact: true }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'History' })).toBeVisible();
  await page.route('**/api/upgrades/default/spring', async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, json: { ...((await response.json()) as object), edition: 'of-somebody-else' } });
  });
  await page.goBack();
  await expect(editor).toHaveValue('metadata:\n  name: mine\n');
  await expect(page.getByText(/Somebody has changed default\/spring since this text was opened/)).toBeVisible();
  await page.getByRole('button', { name: 'Discard the text and take the spec as it is now' }).click();
  await expect(editor).toHaveValue(/name: spring/);
  await expect(page.getByText(/Somebody has changed/)).toBeHidden();
});

test('who looks elsewhere while a text is applied does not read that it was not', async ({ dashboard: { page, open } }) => {
  await open('#/plan?upgrade=default/spring');
  const editor = page.getByLabel('ManagedClustersUpgrade (YAML)');
  await expect(editor).toHaveValue(/name: spring/);
  const preview = { key: 'default/spring', edits: true, seen: 'a', target: '4.14.13', targetBefore: '4.14.13', allOperators: false, changes: [], more: 0 };
  await page.route('**/api/preview', (route) => route.fulfill({ json: preview }));
  let answer = () => {};
  const answered = new Promise<void>((resolve) => (answer = resolve));
  await page.route('**/api/apply', async (route) => {
    await answered;
    await route.fulfill({ json: { done: 'default/spring configured', edition: 'that-was-written' } });
  });
  await editor.fill((await editor.inputValue()).replace(/version: \S+/, 'version: 4.14.13'));
  await page.getByRole('button', { name: 'Apply…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Apply this upgrade?' });
  await dialog.getByRole('button', { name: 'Apply' }).click();
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  const history = page.getByRole('link', { name: 'History', exact: true });
  await history.click();
  await page.goBack();
  const left = page.getByText('This is the text as you left it.');
  await expect(page.getByText('A text of it was sent to be applied')).toBeVisible();
  answer();
  await expect(left).toBeHidden();
  // What is typed since is another text.
  await editor.fill((await editor.inputValue()).replace(/version: \S+/, 'version: 4.14.14'));
  await history.click();
  await page.goBack();
  await expect(left).toBeVisible();
  await page.getByRole('button', { name: 'Apply…' }).click();
  await dialog.getByRole('button', { name: 'Apply' }).click();
  await dialog.getByRole('button', { name: 'Close' }).click();
  await expect(left).toBeHidden();
});

test('what is wrong with a plan is said', async ({ dashboard: { page, open } }) => {
  await open('#/plan');
  await page.getByLabel('ManagedClustersUpgrade (YAML)').fill('version: none');
  await page.getByRole('button', { name: 'Forecast' }).click();
  await expect(page.getByText('"none" is not a version')).toBeVisible();
});

test('the history is filtered by what is typed, and keeps its order', async ({ dashboard: { page, open, server } }) => {
  await open('#/history');
  const order = page.getByRole('columnheader', { name: 'Cluster' });
  await order.getByRole('button').click();
  await expect(order).toHaveAttribute('aria-sort', 'ascending');
  const read = () => server.state.asked.filter((line) => line.includes('/api/history')).length;
  const before = read();
  await page.getByLabel('Text').click();
  await page.keyboard.type('fra-dev');
  await expect(page.getByLabel('Text')).toHaveValue('fra-dev');
  await expect(page.getByLabel('Text')).toBeFocused();
  await expect(page).toHaveURL(/#\/history\?text=fra-dev/);
  await expect(order).toHaveAttribute('aria-sort', 'ascending');
  expect(read()).toBe(before);
});

test('the history is exported', async ({ dashboard: { page, open } }) => {
  await open('#/history');
  await page.getByLabel('Text').fill('fra-dev-3');
  await expect(page.getByText(/^1 attempt, 100% failed/)).toBeVisible();
  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Export as CSV' }).click();
  const file = await download;
  expect(file.suggestedFilename()).toBe('drydock-history.csv');
  const chunks: Buffer[] = [];
  for await (const chunk of await file.createReadStream()) chunks.push(chunk as Buffer);
  const lines = Buffer.concat(chunks).toString().trim().split('\n');
  expect(lines.length).toBe(2);
  expect(lines[1]).toContain(',fra-dev-3,false,Failed,OperatorsTimedOut,');
});

test('who is refused because somebody else has changed the upgrade can take what it is now', async ({ dashboard: { page, open } }) => {
  await open('#/plan?upgrade=default/spring');
  const editor = page.getByLabel('ManagedClustersUpgrade (YAML)');
  await expect(editor).toHaveValue(/name: spring/);
  await expect(page.getByRole('button', { name: 'Discard it' })).toBeHidden();
  await editor.fill('metadata:\n  name: mine\n');
  await page.getByRole('button', { name: 'Discard it and take the spec as it is now' }).click();
  await expect(editor).toHaveValue(/name: spring/);
});

test('a file that is too large is said to be so', async ({ dashboard: { page, open } }) => {
  await open('#/plan');
  const file = (name: string, size: number) => ({ name, mimeType: 'text/yaml', buffer: Buffer.alloc(size, 'a') });
  const text = page.getByLabel('ManagedClustersUpgrade (YAML)');
  const alert = page.getByRole('alert').filter({ hasText: 'The file is too large.' });
  await text.fill('kind: a');
  await page.getByLabel('Open a file').setInputFiles(file('dump.yaml', 1_000_000));
  await expect(alert).toContainText('dump.yaml has 1 MB or more, and was not opened');
  await expect(text).toHaveValue('kind: a');
  await page.getByLabel('Open a file').setInputFiles(file('spring.yaml', 5));
  await expect(text).toHaveValue('aaaaa');
  await expect(alert).toBeHidden();
});
