import { defineConfig } from '@playwright/test';

export default defineConfig({
  testDir: 'tests',
  snapshotPathTemplate: 'tests/looks/{arg}{ext}',
  updateSnapshots: process.env['UPDATE'] ? 'all' : 'none',
  // Each needs what a variable names: a folder for the pictures, and the program that starts a hub.
  testIgnore: [...(process.env['PICTURES'] ? [] : ['**/pictures.test.ts']), ...(process.env['HUB_PAGE'] ? [] : ['**/hub.test.ts'])],
  // Two cores are enough for it, and it leaves one to others.
  workers: 1,
  timeout: 60_000,
  // A browser on a busy machine is at times slow to begin; what should be there is there long before.
  expect: { timeout: 15_000 },
  reporter: 'list',
  use: {
    viewport: { width: 1366, height: 768 },
    launchOptions: {
      executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium',
      args: [
        '--headless',
        '--no-sandbox',
        '--disable-gpu',
        '--disable-quic',
        '--no-first-run',
        '--disable-background-networking',
        '--disable-component-update',
        '--disable-sync',
      ],
    },
  },
});
