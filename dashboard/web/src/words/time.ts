// Moments and durations in words, as kubectl drydock writes them. Moments are of UTC: messages name such ones, and so does everybody on the phone.

/** 40s, 12m, 22h23m, 3d22h. */
export function duration(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  const hours = Math.floor(whole / 3600);
  const minutes = Math.floor(whole / 60) % 60;
  if (hours === 0 && minutes === 0) return `${whole}s`;
  if (hours === 0) return `${minutes}m`;
  if (hours < 48) return `${hours}h${String(minutes).padStart(2, '0')}m`;
  return `${Math.floor(hours / 24)}d${hours % 24}h`;
}

/** A moment: 14:05 on the day of `now`, else with the date. */
export function moment(at: number, now: number): string {
  const time = new Date(at * 1000);
  const clock = `${two(time.getUTCHours())}:${two(time.getUTCMinutes())}`;
  if (day(time) === day(new Date(now * 1000))) return clock;
  return `${day(time)} ${clock}`;
}

/** A moment and how far it is away: 14:05 (in 2h10m), 11:00 (55m ago). */
export function momentAndDistance(at: number, now: number): string {
  const distance = at > now ? `in ${duration(at - now)}` : `${duration(now - at)} ago`;
  return `${moment(at, now)} (${distance})`;
}

/** A moment that has passed: where the page's clock is behind that of the hub, it is now. */
export function pastMoment(at: number, now: number): string {
  return momentAndDistance(at, Math.max(at, now));
}

/** A moment for machines and spreadsheets. */
export function iso(at: number | undefined): string {
  return at ? new Date(at * 1000).toISOString().replace('.000Z', 'Z') : '';
}

function day(time: Date): string {
  return `${time.getUTCFullYear()}-${two(time.getUTCMonth() + 1)}-${two(time.getUTCDate())}`;
}

function two(value: number): string {
  return String(value).padStart(2, '0');
}
