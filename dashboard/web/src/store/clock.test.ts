import { expect, it } from 'vitest';
import { HubClock } from './clock';

it('follows the hub, whatever the browser thinks', () => {
  let elapsed = 0;
  const clock = new HubClock(() => elapsed);
  clock.observe(5000);
  elapsed = 10;
  expect(clock.now()).toBe(5010);
  clock.observe(9000);
  elapsed = 11;
  expect(clock.now()).toBe(9001);
  expect(clock.tick).toBe(30_000);
});

it('lets the time of a sandbox pass as fast as it does', () => {
  let elapsed = 0;
  const clock = new HubClock(() => elapsed);
  clock.observe(5000);
  elapsed = 1;
  clock.setSpeed(600);
  elapsed = 2;
  expect(clock.now()).toBe(5601);
  expect(clock.tick).toBe(1000);
});
