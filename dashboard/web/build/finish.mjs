// After the build: names the style sheet by what it is, compresses each text file once, so that the server need not, and checks what the page weighs.
import { createHash } from 'node:crypto';
import { readFileSync, readdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

/** What a browser transfers for the whole page, all of its parts included, is at most this. */
const LIMIT = 150 * 1024;

// Vite's own name of it is of before unused styles were taken out: another style sheet could have the same, and caches would keep it.
const style = files('dist').find((path) => path.endsWith('.css'));
const hash = createHash('sha256').update(readFileSync(style)).digest('base64url').replace(/[^A-Za-z0-9]/g, '').slice(0, 8);
const name = `assets/style-${hash}.css`;
renameSync(style, join('dist', name));
const page = readFileSync('dist/index.html', 'utf8');
writeFileSync('dist/index.html', page.replace(/assets\/style-[\w-]+\.css/, name));

let total = 0;
for (const path of files('dist')) {
  if (!/\.(html|js|css|svg|json|txt)$/.test(path)) {
    if (!path.endsWith('.gz')) total += readFileSync(path).length;
    continue;
  }
  const packed = gzipSync(readFileSync(path), { level: 9 });
  // The header's modification time is 0 already; its byte for the operating system is made the same everywhere, too.
  packed[9] = 255;
  writeFileSync(`${path}.gz`, packed);
  total += packed.length;
  console.log(`${String(packed.length).padStart(7)}  ${path}.gz`);
}
console.log(`${String(total).padStart(7)}  bytes in all, of at most ${LIMIT}`);
if (total > LIMIT) {
  console.error(`the page is ${total - LIMIT} bytes too large`);
  process.exit(1);
}

function files(folder) {
  return readdirSync(folder, { withFileTypes: true })
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => (entry.isDirectory() ? files(join(folder, entry.name)) : [join(folder, entry.name)]));
}
