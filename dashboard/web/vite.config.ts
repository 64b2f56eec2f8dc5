import { defineConfig } from 'vitest/config';
import { purgeStyles } from './build/purge-styles.mjs';

export default defineConfig({
  // Relative, so that the page also works below a path of a proxy.
  base: './',
  plugins: [purgeStyles()],
  build: {
    // The browsers of the last years; also keeps the built bytes the same whatever browserslist data is installed.
    target: 'es2022',
    // Data URLs would be refused by the content security policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    cssCodeSplit: false,
    reportCompressedSize: false,
  },
  test: {
    include: ['src/**/*.test.ts'],
    environment: 'node',
  },
});
