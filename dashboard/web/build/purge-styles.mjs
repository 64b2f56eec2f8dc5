// Takes out of the built style sheet what the page does not use: rules of PatternFly for classes that no source names, and
// custom properties that nothing reads.
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { PurgeCSS } from 'purgecss';

/** @returns {import('vite').Plugin} */
export function purgeStyles() {
  return {
    name: 'purge-styles',
    apply: 'build',
    enforce: 'post',
    async generateBundle(_options, bundle) {
      const content = sources('src').map((file) => ({ raw: readFileSync(file, 'utf8'), extension: 'txt' }));
      content.push({ raw: readFileSync('index.html', 'utf8'), extension: 'txt' });
      for (const asset of Object.values(bundle)) {
        if (asset.type !== 'asset' || !asset.fileName.endsWith('.css')) continue;
        const [purged] = await new PurgeCSS().purge({
          content,
          css: [{ raw: String(asset.source) }],
          defaultExtractor: (text) => text.match(/[A-Za-z0-9_-]+/g) ?? [],
          variables: true,
          safelist: {
            // The last ones are put together from parts in the sources.
            standard: ['html', 'body', '*', ':before', ':after', '::before', '::after', 'pf-v6-theme-dark', /^u-/, 'uplot', /^slot-/, /^progress-/, /^chart-/, /^mark-/],
            variables: [/^--fleet-/, /^--chart-/],
          },
          // Themes that the page does not offer.
          blocklist: [/theme-felt/, /theme-glass/, /theme-high-contrast/, /theme-redhat/, /-rtl$/],
        });
        // Backgrounds and web fonts of PatternFly: the page has none.
        asset.source = purged.css.replace(/url\([^)]*\)/g, 'none');
      }
      for (const name of Object.keys(bundle)) {
        if (/\.(svg|woff2?|ttf|eot)$/.test(name) && !name.startsWith('assets/icon-')) delete bundle[name];
      }
    },
  };
}

function sources(folder) {
  const found = [];
  for (const entry of readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) found.push(...sources(path));
    else if (/\.(ts|tsx)$/.test(entry.name) && !/\.test\.tsx?$/.test(entry.name)) found.push(path);
  }
  return found;
}
