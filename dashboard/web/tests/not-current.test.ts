// Nobody must take what is gone, or old, for the present; nor act on it.

import { expect, test } from './fixtures';

test('an upgrade that is deleted under its page is gone from it', async ({ dashboard: { page, open, misuse } }) => {
  await open('#/upgrade/default/spring');
  await expect(page.getByRole('heading', { level: 2, name: 'Failures' })).toBeVisible();
  await expect(page.getByRole('button', { name: 'Pause…' })).toBeEnabled();
  await misuse('gone', { key: 'default/spring' });
  await expect(page.getByText('This upgrade is not there any more, or you may not see it any more.')).toBeVisible();
  await expect(page.getByText(/It was last read at \d\d:\d\d/)).toBeVisible();
  await expect(page.locator('.progress-card, .section')).toHaveCount(0);
  await expect(page.getByRole('button', { name: /Pause|Resume|Retry|Accept/ })).toHaveCount(0);
});

test('an upgrade that one may not see any more is not shown', async ({ dashboard: { page, open, misuse } }) => {
  await open('#/upgrade/default/spring');
  await expect(page.getByText(/in half of the runs/)).toBeVisible();
  await misuse('forbid', { path: '/api/upgrades/default/spring' });
  await misuse('step');
  await expect(page.getByText('You may not see this upgrade any more.')).toBeVisible();
  await expect(page.getByText(/in half of the runs|complete/)).toHaveCount(0);
  await expect(page.getByRole('button', { name: /Pause|Resume|Retry|Accept/ })).toHaveCount(0);
  await misuse('forbid', { path: '' });
  await page.getByRole('button', { name: 'Try again' }).click();
  await expect(page.getByText(/in half of the runs/)).toBeVisible();
});

test('who may see nothing any more sees nothing', async ({ dashboard: { page, open, misuse } }) => {
  await open('#/upgrade/default/spring');
  await expect(page.getByText(/in half of the runs/)).toBeVisible();
  await misuse('forbid', { path: '/api/' });
  await misuse('cut');
  await expect(page.getByText('The server refuses to show the fleet.')).toBeVisible();
  await expect(page.getByText('You may not see this upgrade any more.')).toBeVisible();
  await page.getByRole('link', { name: 'Fleet', exact: true }).first().click();
  await expect(page.getByText(/default\/spring|120 clusters/)).toHaveCount(0);
});

test('a cluster that is deleted under its page is gone from it', async ({ dashboard: { page, open, misuse } }) => {
  await open('#/cluster/pdx-edge-3');
  await expect(page.getByRole('heading', { level: 2, name: 'Labels' })).toBeVisible();
  await expect(page.getByRole('button', { name: 'Retry pdx-edge-3' })).toBeEnabled();
  await misuse('remove', { names: ['pdx-edge-3'] });
  await expect(page.getByText('This cluster is not there any more, or you may not see it any more.')).toBeVisible();
  await expect(page.getByRole('heading', { level: 2 })).toHaveCount(0);
  await expect(page.getByRole('button', { name: /Retry/ })).toHaveCount(0);
});

for (const [what, place, answer] of [
  ['upgrade', '#/upgrade/default/spring', '**/api/upgrades/default/spring'],
  ['cluster', '#/cluster/pdx-edge-3', '**/api/clusters/*'],
] as const) {
  test(`an older ${what} is said to be one, above it, and nothing can be done`, async ({ dashboard: { page, open, misuse } }) => {
    await open(place);
    await expect(page.locator('.section').first()).toBeVisible();
    await page.route(answer, (route) => route.fulfill({ status: 502, json: { error: 'the API server does not answer' } }));
    await misuse('set', { name: 'pdx-edge-3', values: { message: 'it failed again' } });
    const note = page.getByRole('status').filter({ hasText: /What is below is not current: it was read at \d\d:\d\d/ });
    await expect(note).toContainText('the API server does not answer');
    await expect(page.locator('.section').first()).toBeVisible();
    const below = await page.locator('.card, .section').first().boundingBox();
    expect((await note.boundingBox())?.y).toBeLessThan(below?.y as number);
    for (const button of await page.getByRole('button', { name: /Pause|Retry|Accept/ }).all()) await expect(button).toBeDisabled();
    await page.unroute(answer);
    await note.getByRole('button', { name: 'Try again' }).click();
    await expect(note).toBeHidden();
    await expect(page.getByRole('button', { name: 'Retry pdx-edge-3' })).toBeEnabled();
  });
}

test('while nothing comes nothing can be done, and what one may do is asked again afterwards', async ({ dashboard: { page, open, misuse, server } }) => {
  await open('#/upgrade/default/spring');
  await expect(page.getByRole('button', { name: 'Pause…' })).toBeEnabled();
  await misuse('refuse');
  await expect(page.getByText('Not connected: what is shown is')).toBeVisible();
  await expect(page.getByRole('button', { name: 'Pause…' })).toBeDisabled();
  server.state.readOnly = true;
  await misuse('accept');
  // The page tries by itself, too: the button may be gone by then.
  const readOnly = page.getByText(', read only');
  await Promise.any([page.getByRole('button', { name: 'Try now' }).click(), expect(readOnly).toBeVisible()]);
  await expect(readOnly).toBeVisible();
  await expect(page.getByRole('button', { name: 'Pause…' })).toBeHidden();
});

test('an upgrade that has ended is not offered to be paused', async ({ dashboard: { page, open, server } }) => {
  const { fleet } = server.state;
  for (const cluster of fleet.of('edge/edge-418')) if (cluster.state !== 'Failed') fleet.complete(cluster, fleet.now - 100);
  await open('#/upgrade/edge/edge-418');
  await expect(page.getByRole('heading', { level: 2, name: 'Failures' })).toBeVisible();
  await expect(page.getByRole('button', { name: 'Pause…' })).toHaveCount(0);
});

test('what is called a token within an address is none, and the sign-in stays', async ({ dashboard: { page, open } }) => {
  await open();
  await page.evaluate(() => (location.hash = '#/fleet?text=fra&token=zz'));
  await page.reload();
  await expect(page.getByText('live', { exact: true })).toBeVisible();
  await expect(page.getByLabel('Text')).toHaveValue('fra');
});
