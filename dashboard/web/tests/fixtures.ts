// A page at a server of its own; what the page says on the console, and what the content security policy refuses, fails the test.

import { test as base, expect, type Page } from '@playwright/test';
import { start } from '../mock/server.mjs';

type Server = Awaited<ReturnType<typeof start>>;

export interface Dashboard {
  page: Page;
  server: Server;
  /** Opens a place of the page, with the token. */
  open(place?: string): Promise<void>;
  /** Asks the server to misbehave. */
  misuse(what: string, body?: unknown): Promise<void>;
}

export interface Options {
  clusters: number;
  readOnly: boolean;
  still: boolean;
  /** The time of the fleet, in seconds since 1970; that of the machine if it is not given. */
  now: number | undefined;
}

export const test = base.extend<{ dashboard: Dashboard } & Options>({
  clusters: [120, { option: true }],
  readOnly: [false, { option: true }],
  still: [true, { option: true }],
  now: [undefined, { option: true }],
  dashboard: async ({ page, clusters, readOnly, still, now }, use) => {
    const server = await start({ clusters, readOnly, still, now });
    const wrong: string[] = [];
    page.on('pageerror', (error) => wrong.push(String(error)));
    page.on('console', (message) => {
      // That a request failed is said by the browser itself; some tests mean it to.
      if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) wrong.push(message.text());
    });
    page.on('dialog', (dialog) => {
      // That a page asks before it drops a text is what a test may wait for.
      if (dialog.type() !== 'beforeunload') wrong.push(`a dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    await use({
      page,
      server,
      async open(place = '') {
        await page.goto(`${server.url}#token=mock`);
        await expect(page.getByText('live', { exact: true })).toBeVisible();
        if (place) await page.evaluate((to) => (location.hash = to), place);
      },
      async misuse(what, body = {}) {
        await fetch(`${server.url}mock/${what}`, { method: 'POST', body: JSON.stringify(body) });
      },
    });
    // What is asked last may still be answered: nobody waits for that.
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    await server.stop();
    expect(wrong).toEqual([]);
  },
});

export { expect };
