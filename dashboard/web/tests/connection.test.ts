import { expect, test } from './fixtures';

test('a cut connection is said, resumes, and misses nothing', async ({ dashboard: { page, open, misuse, server } }) => {
  await open('#/fleet?view=table&text=ams-dev-2');
  await misuse('refuse');
  await expect(page.getByText('Not connected: what is shown is')).toBeVisible();
  await expect(page.getByText('not connected', { exact: true })).toBeVisible();
  await misuse('set', { name: 'ams-dev-2', values: { state: 'Failed', reason: 'AgentFailed', message: 'while nobody looked' } });
  const before = server.state.asked.filter((line) => line.includes('snapshot')).length;
  await misuse('accept');
  // The page tries by itself, too: the button may be gone by then.
  const missed = page.getByText('while nobody looked');
  await Promise.any([page.getByRole('button', { name: 'Try now' }).click(), expect(missed).toBeVisible()]);
  await expect(missed).toBeVisible();
  await expect(page.getByText('Not connected')).toBeHidden();
  // It went on where it was.
  expect(server.state.asked.filter((line) => line.includes('snapshot')).length).toBe(before);
});

test('a connection that comes back at once shows no banner', async ({ dashboard: { page, open, misuse, server } }) => {
  await open('#/fleet?view=table&text=ams-dev-2');
  await misuse('cut');
  await misuse('set', { name: 'ams-dev-2', values: { message: 'after the cut' } });
  await expect(page.getByText('after the cut')).toBeVisible();
  await page.waitForTimeout(2000);
  await expect(page.getByText('Not connected')).toBeHidden();
  expect(server.state.asked.filter((line) => line.includes('snapshot')).length).toBe(1);
});

test('where the server cannot go on, a new snapshot is taken', async ({ dashboard: { page, open, misuse, server } }) => {
  await open('#/fleet?view=table&text=ams-dev-2');
  await misuse('refuse');
  await misuse('reset');
  await misuse('set', { name: 'ams-dev-2', values: { message: 'after the reset' } });
  await misuse('accept');
  await expect(page.getByText('after the reset')).toBeVisible();
  expect(server.state.asked.filter((line) => line.includes('snapshot')).length).toBe(2);
});

test('an expired token says what to run', async ({ dashboard: { page, open, misuse } }) => {
  await open();
  await misuse('expire');
  await expect(page.getByRole('heading', { name: 'The token has expired' })).toBeVisible();
  await expect(page.getByText('kubectl drydock dashboard')).toBeVisible();
});

test('a page without a token says what to run', async ({ dashboard: { page, server } }) => {
  await page.goto(server.url);
  await expect(page.getByRole('heading', { name: 'This tab has no token' })).toBeVisible();
  await expect(page.getByText('kubectl drydock dashboard')).toBeVisible();
});

test('the page of a hub asks for a token of its user', async ({ dashboard: { page, misuse, server } }) => {
  await misuse('hub');
  await page.goto(server.url);
  await expect(page.getByRole('heading', { name: 'Sign in' })).toBeVisible();
  await page.getByLabel('Token').fill('wrong');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await expect(page.getByRole('alert')).toContainText('does not know this token');
  await page.getByLabel('Token').fill('mock');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await expect(page.getByText('live', { exact: true })).toBeVisible();
});

test('what is forbidden is named', async ({ dashboard: { page, misuse, server } }) => {
  await misuse('forbid', { path: '/api/snapshot' });
  await page.goto(`${server.url}#token=mock`);
  await expect(page.getByRole('alert')).toContainText('you may not read ManagedClustersUpgrades in namespace "secret"');
});

test('nothing polls', async ({ dashboard: { page, open, server } }) => {
  await open();
  const asked = server.state.asked.length;
  await page.waitForTimeout(5000);
  expect(server.state.asked.length).toBe(asked);
});

test('what comes before the first picture is shown', async ({ dashboard: { page, server } }) => {
  const asked = async (path: string) => (await fetch(`${server.url}api/${path}`, { headers: { Authorization: 'Bearer mock' } })).text();
  const answers = { session: await asked('session'), snapshot: await asked('snapshot') };
  // The answers are there at once, and the browser is slow to paint.
  await page.addInitScript((texts) => {
    const { fetch, requestAnimationFrame, setTimeout } = window;
    window.fetch = (input, init) => {
      const path = String(input).replace('api/', '').split('?')[0] ?? '';
      if (path === 'changes') return Promise.resolve(new Response(new ReadableStream()));
      const text = (texts as Record<string, string>)[path];
      return text === undefined ? fetch(input, init) : Promise.resolve(new Response(text));
    };
    window.requestAnimationFrame = (draw) => requestAnimationFrame(() => setTimeout(() => draw(performance.now()), 1000));
    // What stands in for a picture that does not come waits as long.
    window.setTimeout = ((run: () => void, wait?: number) => setTimeout(run, (wait ?? 0) < 200 ? 1000 : wait)) as typeof window.setTimeout;
  }, answers);
  await page.goto(`${server.url}#token=mock`);
  await expect(page.getByText('live', { exact: true })).toBeVisible();
});
