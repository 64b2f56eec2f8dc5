// The page at a real hub: who may see nothing, whose token is none any more, and who may act. `make page-hub` starts it.

import { spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { expect, test as base, type Page } from '@playwright/test';

const PROGRAM = process.env['HUB_PAGE'] as string;

interface Hub {
  url: string;
  tokens: Record<string, string>;
  /** Deletes a user. */
  remove(user: string): void;
}

const test = base.extend<object, { hub: Hub }>({
  hub: [
    async ({}, use) => {
      const program = spawn(PROGRAM, [], { stdio: ['pipe', 'pipe', 'inherit'] });
      const said = await firstLine(program);
      await use({ ...(JSON.parse(said) as Omit<Hub, 'remove'>), remove: (user) => program.stdin?.write(`${user}\n`) });
      program.stdin?.end();
      await new Promise((ended) => program.once('exit', ended));
    },
    { scope: 'worker', timeout: 120_000 },
  ],
});

function firstLine(program: ChildProcess): Promise<string> {
  return new Promise((found, failed) => {
    program.once('error', failed);
    program.once('exit', (code) => failed(new Error(`${PROGRAM} ended with ${code}`)));
    createInterface({ input: program.stdout as NodeJS.ReadableStream }).once('line', found);
  });
}

// It shows a certificate that nobody has signed.
test.use({ ignoreHTTPSErrors: true });

async function signIn(page: Page, hub: Hub, user: string): Promise<void> {
  await expect(async () => {
    await page.goto(hub.url);
  }).toPass({ timeout: 30_000 });
  await page.getByLabel('Token').fill(hub.tokens[user] as string);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await expect(page.getByText('live', { exact: true })).toBeVisible({ timeout: 20_000 });
}

test('who may act does, and asks first', async ({ page, hub }) => {
  await signIn(page, hub, 'ann');
  await page.getByRole('link', { name: 'north/spring' }).first().click();
  await page.getByRole('button', { name: 'Pause…' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Pause' }).click();
  await expect(page.getByRole('dialog').getByRole('status')).toContainText('paused');
});

test('a namespace that one may not see is not there, and what one may not do is refused by name', async ({ page, hub }) => {
  await signIn(page, hub, 'bob');
  await expect(page.getByRole('link', { name: 'north/spring' }).first()).toBeVisible();
  await expect(page.getByText('south/autumn')).toHaveCount(0);
  await page.evaluate(() => (location.hash = '#/upgrade/south/autumn'));
  await expect(page.getByText(/has no|there is no|no ManagedClustersUpgrade/).first()).toBeVisible();
  await page.evaluate(() => (location.hash = '#/history'));
  await expect(page.getByText(/people:bob may not list/).first()).toBeVisible();
  await page.evaluate(() => (location.hash = '#/upgrade/north/spring'));
  await page.getByRole('button', { name: /^(Pause|Resume)…$/ }).click();
  await page.getByRole('dialog').getByRole('button', { name: /^(Pause|Resume)$/ }).click();
  await expect(page.getByRole('dialog')).toContainText('people:bob may not patch');
});

test('to who may see nothing it is said', async ({ page, hub }) => {
  await signIn(page, hub, 'cyd');
  await expect(page.getByText(/in no namespace/)).toBeVisible();
  await expect(page.getByText('north/spring')).toHaveCount(0);
});

test('a token that is none any more ends an open page', async ({ page, hub }) => {
  test.setTimeout(180_000);
  await signIn(page, hub, 'cyd');
  hub.remove('cyd');
  // What the hub has said of a token counts for a minute.
  await expect(page.getByRole('heading', { name: 'Sign in' })).toBeVisible({ timeout: 150_000 });
  await expect(page.getByText('live', { exact: true })).toBeHidden();
});
