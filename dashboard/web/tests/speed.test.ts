// What ten thousand clusters cost. Times are printed: they are those of the machine. Bytes are a limit.

import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from './fixtures';

test.use({ clusters: 10_000 });

test('ten thousand clusters: frames while the pointer moves and the fleet changes', async ({ dashboard: { page, open, misuse } }) => {
  test.setTimeout(90_000);
  await open();
  await expect(page.getByText('10,000 clusters')).toBeVisible();
  await frames(page, 'idle', async () => page.waitForTimeout(1500));
  await frames(page, 'pointer', async () => {
    for (let i = 0; i < 120; i++) await page.mouse.move(40 + i * 10, 320 + (i % 40) * 10);
  });
  await frames(page, 'changes, 10 a second', async () => {
    for (let i = 0; i < 30; i++) {
      await misuse('step', { seconds: 60 });
      await page.waitForTimeout(60);
    }
  });
  await frames(page, 'filter, letter by letter', async () => {
    await page.getByLabel('Text').pressSequentially('bom-prod', { delay: 40 });
  });
  await page.getByRole('button', { name: 'Show all' }).click();
  await page.getByLabel('Color by').selectOption('Version');
  await page.getByRole('button', { name: 'Table' }).click();
  await frames(page, 'table, scrolled', async () => {
    await page.mouse.move(600, 600);
    for (let i = 0; i < 60; i++) await page.mouse.wheel(0, 100);
  });
  await frames(page, 'table, scrolled fast', async () => {
    for (let i = 0; i < 60; i++) await page.mouse.wheel(0, 800);
  });
  // Only the lines in view are in the document.
  expect(await page.locator('tbody tr').count()).toBeLessThan(60);
});

test('the work of a change, and memory after many', async ({ dashboard: { page, open, misuse } }) => {
  test.setTimeout(120_000);
  await open();
  await expect(page.getByText('10,000 clusters')).toBeVisible();
  const session = await page.context().newCDPSession(page);
  const heap = async () => {
    await session.send('HeapProfiler.collectGarbage');
    return (await session.send('Runtime.getHeapUsage')).usedSize;
  };
  const before = await heap();
  for (let i = 0; i < 400; i++) await misuse('step', { seconds: 30 });
  await page.waitForTimeout(1000);
  const after = await heap();
  console.log(`  heap: ${mebibytes(before)} MiB, ${mebibytes(after)} MiB after 400 changes`);
  expect(after - before).toBeLessThan(8 * 1024 * 1024);
});

test('bytes and first paint', async ({ dashboard: { page, server } }) => {
  const files = readdirSync('dist', { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.gz'));
  const total = files.reduce((sum, name) => sum + readFileSync(`dist/${name}`).length, 0);
  console.log(`  the page: ${total} bytes compressed, in ${files.length} files`);
  expect(total).toBeLessThanOrEqual(150 * 1024);
  const session = await page.context().newCDPSession(page);
  await session.send('Network.enable');
  // A slow mobile connection and a processor of a quarter of the speed.
  await session.send('Network.emulateNetworkConditions', { offline: false, latency: 150, downloadThroughput: (1.6 * 1024 * 1024) / 8, uploadThroughput: (750 * 1024) / 8 });
  await session.send('Emulation.setCPUThrottlingRate', { rate: 4 });
  let transferred = 0;
  session.on('Network.loadingFinished', (event) => (transferred += event.encodedDataLength));
  await page.goto(`${server.url}#token=mock`);
  await expect(page.getByText('10,000 clusters')).toBeVisible({ timeout: 20_000 });
  const paint = await page.evaluate(() => ({
    first: performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0,
    now: performance.now(),
  }));
  console.log(`  slow connection: first paint after ${Math.round(paint.first)} ms, the fleet after ${Math.round(paint.now)} ms; ${transferred} bytes transferred, the snapshot included`);
});

async function frames(page: import('@playwright/test').Page, what: string, act: () => Promise<void>): Promise<void> {
  await page.evaluate(() => {
    const measured = window as unknown as { times: number[]; measuring: boolean };
    measured.times = [];
    measured.measuring = true;
    let last = performance.now();
    const tick = (now: number) => {
      measured.times.push(now - last);
      last = now;
      if (measured.measuring) requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
  });
  await act();
  const times = await page.evaluate(() => {
    const measured = window as unknown as { times: number[]; measuring: boolean };
    measured.measuring = false;
    return measured.times.slice(1).sort((a, b) => a - b);
  });
  const at = (share: number) => (times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0).toFixed(1);
  const slow = times.filter((time) => time > 33.4).length;
  console.log(`  frames, ${what}: ${times.length}, p50 ${at(0.5)} ms, p95 ${at(0.95)} ms, longest ${at(1)} ms, ${slow} over 33 ms`);
  expect(times.length).toBeGreaterThan(0);
}

function mebibytes(bytes: number): string {
  return (bytes / 1024 / 1024).toFixed(1);
}
