// The page at its real server: the hub and the clusters of the sandbox, watched to the end of a demo.

import { spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { expect, test as base } from '@playwright/test';

const PROGRAM = process.env['DRYDOCK'] ?? '../../target/debug/kubectl-drydock';

/** A demo with a cluster that fails, and the link to its page. */
function demo(...flags: string[]): Promise<{ program: ChildProcess; link: string }> {
  const program = spawn(PROGRAM, ['demo', '--dashboard', '--keep', ...flags], { stdio: ['ignore', 'ignore', 'pipe'] });
  return new Promise((found, failed) => {
    program.once('error', failed);
    program.once('exit', (code) => failed(new Error(`${PROGRAM} ended with ${code}`)));
    createInterface({ input: program.stderr }).on('line', (line) => {
      const link = /http:\/\/127\.0\.0\.1:\d+\/#token=\w+/.exec(line)?.[0];
      if (link) found({ program, link });
    });
  });
}

const test = base.extend<{ flags: string[]; running: { program: ChildProcess; link: string } }>({
  flags: [['--fault', 'dev4=F2', '--speed', '1200'], { option: true }],
  running: async ({ flags }, use) => {
    const running = await demo('--clusters', '6', '--canaries', '1', ...flags);
    running.program.removeAllListeners('exit');
    await use(running);
    running.program.kill();
  },
});

test.setTimeout(180_000);

test('a demo is watched to its end, its fault is named, and retried', async ({ page, running }) => {
  const wrong: string[] = [];
  page.on('pageerror', (error) => wrong.push(String(error)));
  page.on('console', (message) => {
    // That a request failed is said by the browser itself: a forecast that cannot be made is no mistake of the page.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) wrong.push(message.text());
  });
  await page.goto(running.link);
  await expect(page.getByText('live', { exact: true })).toBeVisible();
  expect(page.url()).not.toContain('token');
  await page.getByRole('link', { name: 'default/mcu-upgrades' }).click();

  await page.getByRole('button', { name: 'Pause…' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Pause' }).click();
  await expect(page.getByRole('dialog').getByRole('status')).toContainText('paused');
  await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click();
  await page.getByRole('button', { name: 'Resume…' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Resume' }).click();
  await expect(page.getByRole('dialog').getByRole('status')).toContainText('is not paused any more');
  await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click();

  await expect(page.getByRole('button', { name: 'Retry dev4' })).toBeVisible({ timeout: 120_000 });
  await expect(page.getByText(/UpgradeTimedOut/).first()).toBeVisible();
  await page.getByRole('button', { name: 'Retry dev4' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Retry' }).click();
  await expect(page.getByRole('dialog').getByRole('status')).toContainText('dev4 starts over');
  expect(wrong).toEqual([]);
});

test('a server that ends is noticed', async ({ page, running }) => {
  await page.goto(running.link);
  await expect(page.getByText('live', { exact: true })).toBeVisible();
  running.program.kill();
  await expect(page.locator('.banner')).toBeVisible({ timeout: 20_000 });
});

test.describe('where a cluster has found something', () => {
  test.use({ flags: ['--fault', 'dev4=F11', '--speed', '60'] });

  test('it is accepted with a reason, and who accepted it is shown', async ({ page, running }) => {
    await page.goto(running.link);
    await page.getByRole('link', { name: 'default/mcu-upgrades' }).click();
    await page.getByRole('button', { name: /^Accept: Whether the target is recommended is not known/ }).click();
    const dialog = page.getByRole('dialog', { name: 'Accept this finding?' });
    await expect(dialog.getByRole('button', { name: 'Accept' })).toBeDisabled();
    await dialog.getByLabel('Reason').fill('the mirror has the release');
    await dialog.getByRole('button', { name: 'Accept' }).click();
    await expect(dialog.getByRole('status')).toContainText('accepted up to Warning on 1 cluster of default/mcu-upgrades');
    await dialog.getByRole('button', { name: 'Close' }).click();
    await expect(page.getByText('the mirror has the release')).toBeVisible();
    await expect(page.getByText('accepted', { exact: true })).toBeVisible();
  });
});
