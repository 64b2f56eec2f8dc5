// Places of the page with what has to be done there before it is looked at.

import type { Page } from '@playwright/test';
import { expect } from './fixtures';

export interface Place {
  name: string;
  place: string;
  clusters: number;
  size?: [number, number];
  prepare?: (page: Page) => Promise<void>;
}

export const PLACES: Place[] = [
  { name: 'fleet-10000', place: '#/fleet', clusters: 10_000, prepare: async (page) => page.mouse.move(600, 420) },
  { name: 'fleet-10000-by-state', place: '#/fleet?sort=state', clusters: 10_000 },
  { name: 'fleet-120', place: '#/fleet', clusters: 120, prepare: async (page) => page.mouse.move(400, 400) },
  { name: 'fleet-12', place: '#/fleet', clusters: 12 },
  { name: 'table', place: '#/fleet?view=table&sort=state', clusters: 120 },
  { name: 'upgrade', place: '#/upgrade/default/spring', clusters: 120, size: [1366, 1500], prepare: chart },
  { name: 'cluster', place: '#/cluster/pdx-edge-3', clusters: 120 },
  { name: 'history', place: '#/history', clusters: 120 },
  { name: 'plan', place: '#/plan?upgrade=default/spring', clusters: 120, size: [1366, 1100], prepare: compare },
  { name: 'narrow-fleet', place: '#/fleet', clusters: 1000, size: [390, 844] },
  { name: 'narrow-upgrade', place: '#/upgrade/default/spring', clusters: 120, size: [390, 844], prepare: chart },
];

async function chart(page: Page): Promise<void> {
  await expect(page.locator('.chart canvas')).toBeVisible();
}

async function compare(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Compare with another strategy' }).click();
  await page.getByRole('button', { name: 'Forecast' }).click();
  await chart(page);
}
