import { expect, test } from './fixtures';

test('the token leaves the address at once, and a reload keeps it', async ({ dashboard: { page, open } }) => {
  await open();
  expect(page.url()).not.toContain('token');
  await page.reload();
  await expect(page.getByText('120 clusters')).toBeVisible();
});

test('the fleet shows, and a cell says its sentence', async ({ dashboard: { page, open, server } }) => {
  await open();
  await expect(page.getByText('120 clusters')).toBeVisible();
  await expect(page.getByRole('link', { name: 'default/spring' })).toBeVisible();
  await expect(page.getByRole('img', { name: /Progress of default\/spring: 31 of 88 complete/ })).toBeVisible();
  const failed = [...server.state.fleet.clusters.keys()].indexOf('fra-dev-3');
  // The arrow keys go through the names in order, and the pointer finds the cell at the ring.
  const ring = page.locator('.ring');
  await page.getByRole('application').focus();
  await page.keyboard.press('Home');
  for (let i = 0; i < failed; i++) await page.keyboard.press('ArrowRight');
  const at = await ring.boundingBox();
  if (!at) throw new Error('there is no ring');
  await page.keyboard.press('Escape');
  await page.mouse.move(at.x + at.width / 2, at.y + at.height / 2);
  const card = page.locator('.hover-card');
  await expect(card).toContainText('fra-dev-3');
  await expect(card).toContainText('InstallPlan openshift-logging/install-x8k2p is pending');
  await expect(card).toContainText('since');
  await expect(card).toContainText('What to do: see what the cluster waits for; then: kubectl drydock retry');
});

test('the keyboard chooses cells, and a screen reader hears the sentence', async ({ dashboard: { page, open } }) => {
  await open();
  const cells = page.getByRole('application');
  await cells.focus();
  await page.keyboard.press('Home');
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('ArrowRight');
  await expect(cells.locator('[aria-live]')).toHaveText(/^ams-dev-1: no upgrade\. no upgrade has it\. What to do: nothing\.$/);
  await expect(page.locator('.hover-card')).toContainText('ams-dev-1');
  await page.keyboard.press('Enter');
  await expect(page).toHaveURL(/#\/cluster\/ams-dev-1$/);
  await expect(page.getByRole('heading', { level: 1 })).toContainText('ams-dev-1');
});

test('filters are in the address, and an address is a filter', async ({ dashboard: { page, open, server } }) => {
  await open();
  await page.getByLabel('Text').fill('fra');
  await page.getByLabel('Labels').fill('environment=prod');
  await page.getByLabel('Color by').selectOption('Version');
  await expect(page).toHaveURL(/color=version&text=fra&labels=environment%3Dprod/);
  const expected = [...server.state.fleet.clusters.values()].filter((cluster) => cluster.name.startsWith('fra') && cluster.labels.environment === 'prod').length;
  await expect(page.getByRole('status').filter({ hasText: 'clusters' })).toHaveText(`${expected} of 120 clusters`);
  await page.getByRole('list', { name: /Legend/ }).getByRole('button', { name: '4.18.9' }).click();
  await expect(page).toHaveURL(/version=4.18.9/);
  const address = page.url();
  const shown = await page.getByRole('status').filter({ hasText: 'clusters' }).textContent();
  await page.goto('about:blank');
  await page.goto(address);
  await expect(page.getByRole('status').filter({ hasText: 'clusters' })).toHaveText(shown as string);
  await expect(page.getByLabel('Text')).toHaveValue('fra');
  await page.getByRole('button', { name: 'Show all' }).click();
  await expect(page.getByText('120 clusters', { exact: true })).toBeVisible();
});

test('a selector that is none is said, and shows all', async ({ dashboard: { page, open } }) => {
  await open();
  await page.getByLabel('Labels').fill('region===');
  await expect(page.getByRole('alert')).toContainText('is not a label selector');
  await expect(page.getByText('120 clusters', { exact: true })).toBeVisible();
});

test('the table has the same clusters, sorts, and leads to one', async ({ dashboard: { page, open } }) => {
  await open('#/fleet?state=Failed');
  await page.getByRole('button', { name: 'Table' }).click();
  const table = page.getByRole('table');
  await expect(table).toHaveAttribute('aria-rowcount', '3');
  await expect(table.getByRole('row').nth(1)).toContainText('fra-dev-3');
  await page.getByRole('button', { name: 'Cluster' }).click();
  await expect(table.getByRole('row').nth(1)).toContainText('pdx-edge-3');
  await expect(page).toHaveURL(/order=descending/);
  await table.getByRole('link', { name: 'pdx-edge-3' }).click();
  await expect(page.getByRole('heading', { level: 1 })).toContainText('pdx-edge-3');
  await page.goBack();
  await expect(table).toHaveAttribute('aria-rowcount', '3');
});

test('a change shows without a reload', async ({ dashboard: { page, open, misuse } }) => {
  await open('#/fleet?view=table&text=ams-dev-2');
  await misuse('set', { name: 'ams-dev-2', values: { state: 'Failed', reason: 'AgentFailed', message: 'the UpgradeConfig says Failed' } });
  await expect(page.getByRole('row').filter({ hasText: 'AgentFailed' })).toContainText('the UpgradeConfig says Failed');
  await misuse('remove', { names: ['ams-dev-2'] });
  await expect(page.getByRole('row').filter({ hasText: 'AgentFailed' })).toHaveCount(0);
});

test('both themes can be chosen', async ({ dashboard: { page, open } }) => {
  await page.emulateMedia({ colorScheme: 'light' });
  await open();
  const dark = () => page.evaluate(() => document.documentElement.classList.contains('pf-v6-theme-dark'));
  expect(await dark()).toBe(false);
  await page.getByRole('button', { name: 'Use the dark theme' }).click();
  expect(await dark()).toBe(true);
  await page.reload();
  expect(await dark()).toBe(true);
  await page.getByRole('button', { name: 'Use the light theme' }).click();
  expect(await dark()).toBe(false);
  await page.emulateMedia({ colorScheme: 'dark' });
  await expect.poll(dark).toBe(true);
});

test('an upgrade counts more clusters than are shown of it, where another one has them', async ({ dashboard: { page, open } }) => {
  await page.route('**/api/snapshot', async (route) => {
    const response = await route.fetch();
    const answer = await response.json();
    for (const upgrade of answer.upgrades) upgrade.counts.selected += upgrade.key === 'default/spring' ? 3 : 0;
    await route.fulfill({ response, json: answer });
  });
  await open('#/fleet?upgrade=default%2Fspring');
  await expect(page.getByText('3 clusters of this upgrade are shown with another upgrade that selects them')).toBeVisible();
  await page.evaluate(() => (location.hash = '#/fleet?upgrade=edge%2Fedge-418'));
  await expect(page.getByText('shown with another upgrade')).toHaveCount(0);
  await page.unrouteAll({ behavior: 'ignoreErrors' });
});

test('what an address asks for is shown as chosen, also where it is not offered', async ({ dashboard: { page, open } }) => {
  await open('#/fleet?sort=normalUntil');
  await expect(page.getByLabel('Order by')).toHaveValue('normalUntil');
  await page.evaluate(() => (location.hash = '#/history?upgrade=gone%2Fone'));
  await expect(page.getByLabel('Upgrade')).toHaveValue('gone/one');
});

test('an address may ask for what every object has', async ({ dashboard: { page, open } }) => {
  await open();
  for (const word of ['constructor', '__proto__']) {
    await page.evaluate((to) => (location.hash = `#/fleet?window=${to}`), word);
    await expect(page.getByText('0 of 120 clusters')).toBeVisible();
    await expect(page.getByRole('button', { name: `Start window: ${word}` })).toBeVisible();
  }
});
