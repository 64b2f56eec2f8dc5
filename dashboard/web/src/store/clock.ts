// The time of the hub. The clock of the browser may be wrong, and a sandbox lets time pass faster.

export class HubClock {
  private at = Date.now() / 1000;
  private seen = performance.now() / 1000;
  private rate = 1;

  constructor(private readonly elapsed: () => number = () => performance.now() / 1000) {
    this.seen = this.elapsed();
  }

  /** Takes over a moment that the hub has said. `virtual`: its time may pass at another pace. */
  observe(now: number, virtual: boolean): void {
    const elapsed = this.elapsed();
    const since = elapsed - this.seen;
    if (virtual && since > 0.2 && now > this.at) this.rate = Math.max(1, (now - this.at) / since);
    this.at = now;
    this.seen = elapsed;
  }

  now(): number {
    return this.at + (this.elapsed() - this.seen) * this.rate;
  }
}
