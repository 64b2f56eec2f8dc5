// What the page looks like, in both themes, beside pictures that a person has looked at. UPDATE=1 npm run browser -- looks makes them anew.
// Letters are drawn a little differently by other versions of the browser and its fonts: a small share of the points may differ.

import { expect, test } from './fixtures';
import { PLACES } from './places';

/** Of all points of a picture, how many may differ. */
const MAY_DIFFER = 0.03;
/** A time in the middle of a minute, so that no text changes while it is looked at. */
const NOW = Date.UTC(2026, 10, 25, 12, 0, 20) / 1000;

for (const theme of ['light', 'dark'] as const) {
  for (const { name, place, clusters, size, prepare } of PLACES.filter(({ clusters }) => clusters < 10_000)) {
    test.describe(() => {
      test.use({ clusters, now: NOW, timezoneId: 'UTC', viewport: { width: size?.[0] ?? 1366, height: size?.[1] ?? 768 } });
      test(`${name} looks as it did, ${theme}`, async ({ dashboard: { page, open } }) => {
        await page.emulateMedia({ colorScheme: theme });
        await open(place);
        await prepare?.(page);
        await expect(page).toHaveScreenshot(`${name}-${theme}.png`, { maxDiffPixelRatio: MAY_DIFFER });
      });
    });
  }
}
