// The time of the hub. The clock of the browser may be wrong, and in a sandbox time passes faster.

export class HubClock {
  private at = Date.now() / 1000;
  private seen: number;
  /** Seconds of the hub that pass in one of ours. */
  private speed = 1;

  constructor(private readonly elapsed: () => number = () => performance.now() / 1000) {
    this.seen = this.elapsed();
  }

  /** Takes over a moment that the hub has said. */
  observe(now: number): void {
    this.at = now;
    this.seen = this.elapsed();
  }

  setSpeed(speed: number): void {
    this.observe(this.now());
    this.speed = speed;
  }

  now(): number {
    return this.at + (this.elapsed() - this.seen) * this.speed;
  }

  /** How often texts with times are written anew, in milliseconds: every half minute of the hub, but not more than once a second. */
  get tick(): number {
    return Math.max(1000, 30_000 / this.speed);
  }
}
