import { expect, it } from 'vitest';
import { HubClock } from './clock';

it('follows the hub, whatever the browser thinks', () => {
  let elapsed = 0;
  const clock = new HubClock(() => elapsed);
  clock.observe(5000, false);
  elapsed = 10;
  expect(clock.now()).toBe(5010);
  clock.observe(9000, false);
  elapsed = 11;
  expect(clock.now()).toBe(9001);
});

it('lets virtual time pass as fast as it does', () => {
  let elapsed = 0;
  const clock = new HubClock(() => elapsed);
  clock.observe(5000, true);
  elapsed = 1;
  clock.observe(5060, true);
  elapsed = 2;
  expect(clock.now()).toBe(5120);
});
