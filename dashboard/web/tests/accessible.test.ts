import { createRequire } from 'node:module';
import type { Page } from '@playwright/test';
import { expect, test } from './fixtures';

const axe = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

const PLACES: [string, string, (page: Page) => Promise<void>][] = [
  ['cells', '#/fleet', async () => {}],
  ['table', '#/fleet?view=table&color=finding', async () => {}],
  ['a wrong selector', '#/fleet?labels=a%3D%3D%3D', async () => {}],
  ['upgrade', '#/upgrade/default/spring', async (page) => expect(page.locator('.chart canvas')).toBeVisible()],
  ['dialog', '#/upgrade/default/spring', async (page) => page.getByRole('button', { name: /^Accept: budget monitoring/ }).click()],
  ['cluster', '#/cluster/pdx-edge-3', async (page) => expect(page.getByRole('heading', { name: 'Labels' })).toBeVisible()],
  ['history', '#/history', async (page) => expect(page.getByRole('table')).toBeVisible()],
  ['what applying does', '#/plan?upgrade=default/spring', applying],
  ['plan', '#/plan?upgrade=default/spring', async (page) => page.getByRole('button', { name: 'Forecast' }).click()],
];

async function applying(page: Page): Promise<void> {
  const editor = page.getByLabel('ManagedClustersUpgrade (YAML)');
  await expect(editor).toHaveValue(/version: 4.18.9/);
  await editor.fill((await editor.inputValue()).replace('version: 4.18.9', 'version: 4.18.10'));
  await page.getByRole('button', { name: 'Apply…' }).click();
  await expect(page.getByRole('table', { name: 'What becomes different' })).toBeVisible();
}

for (const theme of ['light', 'dark'] as const) {
  for (const [name, place, prepare] of PLACES) {
    test(`${name} has no violations in the ${theme} theme`, async ({ dashboard: { page, open } }) => {
      await page.emulateMedia({ colorScheme: theme });
      await open(place);
      await prepare(page);
      expect(await violations(page)).toEqual([]);
    });
  }
}

test('an expired token and a lost connection have no violations', async ({ dashboard: { page, open, misuse } }) => {
  await open();
  await misuse('refuse');
  await expect(page.getByText('Not connected')).toBeVisible();
  expect(await violations(page)).toEqual([]);
  await misuse('expire');
  await misuse('accept');
  await expect(page.getByRole('heading', { name: 'The token has expired' })).toBeVisible();
  expect(await violations(page)).toEqual([]);
});

test('the sign-in has no violations', async ({ dashboard: { page, misuse, server } }) => {
  await misuse('hub');
  await page.goto(server.url);
  await expect(page.getByRole('heading', { name: 'Sign in' })).toBeVisible();
  expect(await violations(page)).toEqual([]);
});

test.describe('on a narrow screen', () => {
  test.use({ viewport: { width: 360, height: 740 } });
  test('nothing is wider than the screen', async ({ dashboard: { page, open } }) => {
    await open();
    for (const [, place] of PLACES) {
      await page.evaluate((to) => (location.hash = to), place);
      await page.waitForTimeout(400);
      expect(await page.evaluate(() => document.documentElement.scrollWidth), place).toBeLessThanOrEqual(360);
      expect(await page.evaluate(() => document.querySelector('main')?.scrollWidth), place).toBeLessThanOrEqual(360);
      expect(await violations(page), place).toEqual([]);
    }
  });
});

async function violations(page: Page): Promise<string[]> {
  // The policy of the page refuses a script that is put into it, but not what the debugger evaluates.
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate((await import('node:fs')).readFileSync(axe, 'utf8'));
  return page.evaluate(async () => {
    const found = await (window as unknown as { axe: { run(): Promise<{ violations: { id: string; nodes: { target: unknown; failureSummary: string }[] }[] }> } }).axe.run();
    return found.violations.map((one) => `${one.id}: ${one.nodes.slice(0, 3).map((node) => `${String(node.target)} ${node.failureSummary}`).join(' | ')}`);
  });
}
