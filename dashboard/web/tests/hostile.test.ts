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
  await page.route('**/api/upgrades/default/spring', (route) => route.fulfill({ json: { key: 'default/spring', target: '4', phase: '', paused: false, counts, states: {}, message: '', spec: '' } }));
  await page.route('**/api/upgrades/default/spring/forecast', (route) => route.fulfill({ json: { title: '', text: '', confident: true, failures: 0, inFlightAtMost: 0 } }));
  await open('#/upgrade/default/spring');
  await expect(page.getByText('No cluster is in flight.')).toBeVisible();
  await page.route('**/api/clusters/*', (route) => route.fulfill({ json: { upgrades: [null] } }));
  await page.evaluate(() => (location.hash = '#/cluster/ams-dev-1'));
  await expect(page.getByRole('alert')).toContainText('This part of the page has failed.');
  await page.evaluate(() => (location.hash = '#/fleet'));
  await expect(page.getByText('120 clusters')).toBeVisible();
});
