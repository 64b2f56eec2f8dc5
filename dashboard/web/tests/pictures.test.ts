// Pictures of the page for the docs and for eyes, into the folder that PICTURES names; without it this file is left out.

import { join } from 'node:path';
import { test } from './fixtures';
import { PLACES } from './places';

const folder = process.env['PICTURES'];

for (const theme of ['light', 'dark'] as const) {
  for (const { name, place, clusters, size, prepare } of PLACES) {
    test.describe(() => {
      test.use({ clusters, viewport: { width: size?.[0] ?? 1366, height: size?.[1] ?? 768 } });
      test(`${name}, ${theme}`, async ({ dashboard: { page, open } }) => {
        await page.emulateMedia({ colorScheme: theme });
        await open(place);
        await page.waitForTimeout(500);
        await prepare?.(page);
        await page.screenshot({ path: join(folder as string, `${name}-${theme}.png`) });
      });
    });
  }
}
