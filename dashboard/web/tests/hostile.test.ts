import { expect, test } from './fixtures';

// The fixture fails a test in which a dialog opens or the policy refuses something.

test('hostile names are text', async ({ dashboard: { page, open, server, misuse } }) => {
  const [image, rtl, long, script] = server.state.fleet.hostile as string[];
  await open('#/fleet?view=table');
  for (const name of [image, long, script]) await expect(page.getByRole('link', { name })).toBeVisible();
  // Without what turns the direction; isolated from what is around it.
  await page.getByLabel('Text').fill('gnp');
  const turned = page.getByRole('link', { name: (rtl as string).replace('\u202e', '') });
  await expect(turned.locator('bdi')).toHaveAttribute('dir', 'auto');
  await page.getByLabel('Text').fill('');
  expect(await page.evaluate(() => document.querySelectorAll('main img, main script').length)).toBe(0);

  await misuse('set', { name: image, values: { message: `<b onmouseover=alert(3)>${'x'.repeat(10_000)}`, labels: { '"><i>': '<u>' }, version: '<img src=y onerror=alert(4)>', reason: '<svg onload=alert(5)>', state: 'Failed' } });
  await expect(page.getByText('<svg onload=alert(5)>').first()).toBeVisible();
  const widest = await page.locator('.line').first().evaluate((row) => Math.max(...[...row.querySelectorAll('td')].map((cell) => cell.getBoundingClientRect().height)));
  expect(widest).toBeLessThan(60);
  const text = await page.locator('tbody').evaluate((body) => body.textContent?.length ?? 0);
  expect(text).toBeLessThan(20_000);

  await page.getByRole('link', { name: image }).click();
  await expect(page.getByRole('heading', { level: 1 })).toContainText(image as string);
  await expect(page.locator('.card .long-text')).toBeVisible();
  await page.evaluate(() => (location.hash = '#/upgrade/default/spring'));
  await expect(page.getByRole('heading', { level: 2, name: 'Failures' })).toBeVisible();
  expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true);
  expect(await page.evaluate(() => document.querySelectorAll('main img, main script, main b, main u').length)).toBe(0);
});

test('a place that does not exist is said', async ({ dashboard: { page, open } }) => {
  await open('#/cluster/%3Cimg%20src%3Dx%20onerror%3Dalert(9)%3Enowhere');
  await expect(page.getByText('The cluster cannot be shown.')).toBeVisible();
  await page.evaluate(() => (location.hash = '#/upgrade/a/<script>'));
  await expect(page.getByText('The upgrade cannot be shown.')).toBeVisible();
});

test('answers that lack lists, or are none, do not take the page down', async ({ dashboard: { page, open } }) => {
  const counts = { selected: 0, notStarted: 0, inFlight: 0, complete: 0, failed: 0, other: 0 };
  await page.route('**/api/upgrades/default/spring', (route) => route.fulfill({ json: { key: 'default/spring', generation: 1, target: '4', phase: '', paused: false, counts, states: {}, message: '', spec: '' } }));
  await page.route('**/api/upgrades/default/spring/forecast', (route) => route.fulfill({ json: { title: '', text: '', confident: true, failures: 0, inFlightAtMost: 0 } }));
  await open('#/upgrade/default/spring');
  await expect(page.getByText('No cluster is in flight.')).toBeVisible();
  await page.route('**/api/clusters/*', (route) => route.fulfill({ json: { upgrades: [null] } }));
  await page.evaluate(() => (location.hash = '#/cluster/ams-dev-1'));
  await expect(page.getByRole('alert')).toContainText('This part of the page has failed.');
  await page.evaluate(() => (location.hash = '#/fleet'));
  await expect(page.getByText('120 clusters')).toBeVisible();
});

test('a word of the server may be one that every object has', async ({ dashboard: { page, open, misuse } }) => {
  const counts = { selected: 0, notStarted: 0, inFlight: 0, complete: 0, failed: 0, other: 0 };
  await page.route('**/api/snapshot', async (route) => {
    const response = await route.fetch();
    const answer = await response.json();
    for (const upgrade of answer.upgrades) Object.assign(upgrade, { phase: 'constructor', counts, halt: undefined });
    await route.fulfill({ response, json: answer });
  });
  await open('#/fleet?view=table&text=ams-dev-2');
  await expect(page.getByRole('article').filter({ hasText: 'default/spring' })).toContainText('constructor');
  await misuse('set', { name: 'ams-dev-2', values: { state: 'constructor', finding: '__proto__' } });
  const label = page.getByRole('row').filter({ hasText: 'ams-dev-2' }).locator('.pf-v6-c-label').filter({ hasText: 'constructor' });
  await expect(label).toHaveClass(/^pf-v6-c-label pf-m-compact\s*$/);
  await page.unrouteAll({ behavior: 'ignoreErrors' });
});

test('what fails for one address is tried again for the next, and nothing is built anew while one types', async ({ dashboard: { page, open } }) => {
  await page.route('**/api/snapshot', async (route) => {
    const response = await route.fetch();
    const answer = await response.json();
    // Only a filter looks at it.
    answer.clusters.name[0] = null;
    await route.fulfill({ response, json: answer });
  });
  await open('#/fleet');
  await expect(page.getByText('120 clusters')).toBeVisible();
  const failed = page.getByRole('alert').filter({ hasText: 'This part of the page has failed.' });
  for (let i = 0; i < 2; i++) {
    await page.evaluate(() => (location.hash = '#/fleet?text=fra'));
    await expect(failed).toBeVisible();
    await page.evaluate(() => (location.hash = '#/fleet?color=version'));
    await expect(page.getByText('120 clusters')).toBeVisible();
    await expect(failed).toHaveCount(0);
  }
  const labels = page.getByLabel('Labels');
  await labels.focus();
  await labels.evaluate((element) => element.setAttribute('data-same', ''));
  await labels.pressSequentially('region=eu');
  await expect(page).toHaveURL(/labels=region%3Deu/);
  await expect(labels).toBeFocused();
  await expect(labels).toHaveAttribute('data-same');
  await page.unrouteAll({ behavior: 'ignoreErrors' });
});
