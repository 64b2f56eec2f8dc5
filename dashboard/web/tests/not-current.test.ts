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

test('a forecast that has no sense any more is not shown as an old one', async ({ dashboard: { page, open, misuse } }) => {
  await open('#/upgrade/default/spring');
  await expect(page.getByText('(median)')).toBeVisible();
  await page.route('**/forecast', (route) => route.fulfill({ status: 422, json: { error: 'nothing is left to do: all clusters have ended' } }));
  // Who is connected again asks for it anew.
  await misuse('cut');
  await expect(page.getByText('There is no forecast.')).toBeVisible({ timeout: 15_000 });
  await expect(page.getByText('nothing is left to do')).toBeVisible();
  await expect(page.getByText(/is not current|\(median\)/)).toHaveCount(0);
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

test('what is asked can be done only while the page is connected, and is said to be so', async ({ dashboard: { page, open, misuse } }) => {
  await open('#/upgrade/default/spring');
  await page.getByRole('button', { name: 'Pause…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Pause this upgrade?' });
  const action = dialog.getByRole('button', { name: 'Pause' });
  await expect(action).toBeEnabled();
  await misuse('refuse');
  await expect(action).toBeDisabled();
  await expect(dialog.locator('[aria-live=polite]')).toContainText('Not connected: nothing can be done until the page is connected again.');
  await expect(dialog.getByRole('button', { name: 'Cancel' })).toBeFocused();
  await misuse('accept');
  await expect(action).toBeEnabled();
  await expect(dialog).not.toContainText('Not connected');
  await action.click();
  await expect(dialog).toContainText('default/spring paused');
});

test('a text is applied only while the page is connected', async ({ dashboard: { page, open, misuse } }) => {
  await open('#/plan?upgrade=default/spring');
  const ask = page.getByRole('button', { name: 'Apply…' });
  await expect(ask).toBeEnabled();
  await ask.click();
  const dialog = page.getByRole('dialog', { name: 'Apply this upgrade?' });
  const action = dialog.getByRole('button', { name: 'Apply' });
  await expect(action).toBeEnabled();
  await misuse('refuse');
  await expect(action).toBeDisabled();
  await expect(dialog).toContainText('Not connected');
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  await expect(ask).toBeDisabled();
  // What is lost is the connection, not the upgrade.
  await expect(page.getByLabel('ManagedClustersUpgrade (YAML)')).toHaveValue(/name: spring/);
  await misuse('accept');
  await expect(ask).toBeEnabled();
});

test('what was sent before the connection was lost keeps its outcome', async ({ dashboard: { page, open, misuse } }) => {
  await open('#/upgrade/default/spring');
  let answer = () => {};
  const answered = new Promise<void>((resolve) => (answer = resolve));
  await page.route('**/pause', async (route) => {
    await answered;
    await route.fulfill({ json: { done: 'default/spring paused' } });
  });
  await page.getByRole('button', { name: 'Pause…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Pause this upgrade?' });
  await dialog.getByRole('button', { name: 'Pause' }).click();
  await misuse('refuse');
  await expect(page.getByText('Not connected: what is shown is')).toBeVisible();
  await expect(dialog).not.toContainText('Not connected');
  answer();
  await expect(dialog.getByRole('status')).toContainText('default/spring paused');
  await expect(dialog.getByRole('button', { name: 'Close' })).toBeFocused();
});

test('the text of an upgrade that is gone is gone from the plan, and there again when it is', async ({ dashboard: { page, open, misuse, server } }) => {
  await open('#/plan?upgrade=default/spring');
  const editor = page.getByLabel('ManagedClustersUpgrade (YAML)');
  await expect(editor).toHaveValue(/name: spring/);
  await page.getByRole('button', { name: 'Forecast' }).click();
  await expect(page.getByText(/in half of the runs/)).toBeVisible();
  const { targets } = server.state.fleet;
  const target = targets.get('default/spring');
  await misuse('gone', { key: 'default/spring' });
  await expect(page.getByText('default/spring is not there, or you may not see it.')).toBeVisible();
  await expect(editor).toHaveValue('');
  await expect(page.getByText(/in half of the runs/)).toHaveCount(0);
  await editor.fill('metadata: {name: spring}');
  await expect(page.getByText('What you have written stays; it cannot be applied here.')).toBeVisible();
  await expect(page.getByRole('button', { name: 'Apply…' })).toBeDisabled();
  await editor.fill('');
  targets.set('default/spring', target);
  await misuse('step');
  await expect(editor).toHaveValue(/name: spring/);
  await expect(page.getByText('is not there, or you may not see it')).toHaveCount(0);
});

test('what somebody has written stays when the upgrade is gone, and is not applied', async ({ dashboard: { page, open, misuse, server } }) => {
  await open('#/plan?upgrade=default/spring');
  const editor = page.getByLabel('First: ManagedClustersUpgrade (YAML)');
  await expect(page.getByLabel('ManagedClustersUpgrade (YAML)')).toHaveValue(/name: spring/);
  await page.getByRole('button', { name: 'Compare with another strategy' }).click();
  const mine = (await editor.inputValue()).replace(/version: \S+/, 'version: 4.18.10');
  await editor.fill(mine);
  await page.getByRole('button', { name: 'Apply the first…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Apply the first text?' });
  await expect(dialog).toContainText('4.18.9');
  await expect(dialog.getByRole('button', { name: 'Apply' })).toBeEnabled();
  // A right that is taken away shows as another list of upgrades.
  server.state.fleet.targets.delete('default/spring');
  await misuse('reset');
  await misuse('cut');
  await expect(dialog).toContainText('The upgrade is not there any more, or you may not see it any more.');
  await expect(dialog).not.toContainText('4.18.9');
  await expect(dialog.getByRole('button', { name: 'Apply' })).toBeDisabled();
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  await expect(editor).toHaveValue(mine);
  await expect(page.getByLabel('Second: another strategy')).toHaveValue('');
  await expect(page.getByText('What you have written stays; it cannot be applied here.')).toBeVisible();
  for (const button of await page.getByRole('button', { name: /^Apply/ }).all()) await expect(button).toBeDisabled();
  expect(await page.evaluate(() => sessionStorage.getItem('drydock-drafts'))).not.toContain('version: 4.18.9');
  // It is a draft like others.
  await page.getByRole('link', { name: 'History', exact: true }).click();
  await page.goBack();
  await expect(editor).toHaveValue(mine);
  await page.getByRole('button', { name: 'Discard it' }).click();
  await expect(page.getByLabel('ManagedClustersUpgrade (YAML)')).toHaveValue('');
});

test('who may see nothing any more sees no text of an upgrade', async ({ dashboard: { page, open, misuse } }) => {
  await open('#/plan?upgrade=default/spring');
  const editor = page.getByLabel('ManagedClustersUpgrade (YAML)');
  await expect(editor).toHaveValue(/name: spring/);
  await misuse('forbid', { path: '/api/' });
  await misuse('cut');
  await expect(page.getByText('The server refuses to show the fleet.')).toBeVisible();
  await expect(editor).toHaveValue('');
  await expect(page.getByText('default/spring is not there, or you may not see it.')).toBeVisible();
});

test('another upgrade that a text is about is gone from the dialog, too', async ({ dashboard: { page, open, misuse } }) => {
  await open('#/plan');
  await page.getByLabel('ManagedClustersUpgrade (YAML)').fill('metadata: {name: edge-418, namespace: edge}\nspec:\n  clusterVersion: {version: 4.18.10}');
  await page.getByRole('button', { name: 'Apply…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Apply this upgrade?' });
  await expect(dialog).toContainText('It changes edge/edge-418');
  await misuse('gone', { key: 'edge/edge-418' });
  await expect(dialog).toContainText('The upgrade is not there any more, or you may not see it any more.');
  await expect(dialog).not.toContainText('edge-418');
  await expect(dialog.getByRole('button', { name: 'Apply' })).toBeDisabled();
});

for (const [action, question] of [
  ['Pause…', 'Pause this upgrade?'],
  ['Retry…', /^Retry \d+ clusters?\?$/],
  [/^Accept: budget monitoring/, 'Accept this finding?'],
] as const) {
  test(`a question about an upgrade that is gone is not asked any more: ${question}`, async ({ dashboard: { page, open, misuse } }) => {
    await open('#/upgrade/default/spring');
    await page.getByRole('button', { name: action, exact: true }).click();
    const dialog = page.getByRole('dialog', { name: question });
    await expect(dialog).toContainText('default/spring');
    await misuse('gone', { key: 'default/spring' });
    await expect(dialog).toContainText('The upgrade is not there any more, or you may not see it any more.');
    await expect(dialog).not.toContainText('default/spring');
    await expect(dialog.getByRole('button', { name: /^(Pause|Retry|Accept)$/ })).toBeDisabled();
    await expect(dialog.getByRole('button', { name: 'Cancel' })).toBeFocused();
  });
}

test('a spec that could not be read is read again, and nothing is applied before', async ({ dashboard: { page, open } }) => {
  const spec = '**/api/upgrades/default/spring';
  await page.route(spec, (route) => route.fulfill({ status: 503, json: { error: 'the hub does not answer' } }));
  await open('#/plan?upgrade=default/spring');
  await expect(page.getByText('The spec of default/spring cannot be read.')).toBeVisible();
  const editor = page.getByLabel('ManagedClustersUpgrade (YAML)');
  await editor.fill('metadata: {name: spring}');
  await expect(page.getByRole('button', { name: 'Apply…' })).toBeDisabled();
  await page.getByRole('link', { name: 'History', exact: true }).click();
  await page.goBack();
  await expect(page.getByText('It was written before the spec could be read, and cannot be applied here.')).toBeVisible();
  await page.getByRole('button', { name: 'Discard it and take the spec as it is now' }).click();
  await expect(page.getByText('The spec of default/spring cannot be read.')).toBeVisible();
  await page.unroute(spec);
  await page.getByRole('button', { name: 'Try again' }).click();
  await expect(editor).toHaveValue(/name: spring/);
  await expect(page.getByText('cannot be read')).toHaveCount(0);
  await expect(page.getByRole('button', { name: 'Apply…' })).toBeEnabled();
});

test('of an upgrade that is back, the text that was not edited can be had again', async ({ dashboard: { page, open, misuse, server } }) => {
  await open('#/plan?upgrade=default/spring');
  await expect(page.getByLabel('ManagedClustersUpgrade (YAML)')).toHaveValue(/name: spring/);
  await page.getByRole('button', { name: 'Compare with another strategy' }).click();
  const second = page.getByLabel('Second: another strategy');
  await second.fill((await second.inputValue()).replace(/version: \S+/, 'version: 4.18.10'));
  const { targets } = server.state.fleet;
  const target = targets.get('default/spring');
  await misuse('gone', { key: 'default/spring' });
  await expect(page.getByLabel('First: ManagedClustersUpgrade (YAML)')).toHaveValue('');
  targets.set('default/spring', target);
  await misuse('step');
  await page.getByRole('button', { name: 'Discard it and take the spec as it is now' }).click();
  await expect(page.getByLabel('ManagedClustersUpgrade (YAML)')).toHaveValue(/name: spring/);
});
