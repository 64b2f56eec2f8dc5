// Texts of clusters are theirs: they are bounded, and freed of what would turn the direction of the text around them.

/** The longest text of a cluster that is shown in a line. */
const LINE = 300;

/** The longest text that says what to do: a command that is cut does something else. */
export const TODO = 1000;

/** Unicode's general categories Cc and Cf without line breaks, and its line and paragraph separators. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
const UNPRINTABLE = /[\p{Cf}\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029]/gu;

/** A text as it may be shown: without control and format characters, at most `limit` characters long. */
export function printable(text: string, limit = LINE): string {
  // Cut first: a text of megabytes must not be searched whole.
  const cut = text.length > limit * 2 ? text.slice(0, limit * 2) : text;
  const clean = cut.replace(UNPRINTABLE, '');
  if (clean.length <= limit) return clean;
  // Not between the two halves of a character.
  return `${Array.from(clean.slice(0, limit + 1)).slice(0, -1).join('').trimEnd()}…`;
}

const number = new Intl.NumberFormat('en-US');

export function count(value: number): string {
  return number.format(value);
}

/** 1 cluster, 12 clusters. */
export function clusters(value: number): string {
  return value === 1 ? '1 cluster' : `${count(value)} clusters`;
}

export function percent(share: number): string {
  return said(share, Math.round(share * 100));
}

/** Parts of a whole, which add up to what is said of the whole: those are rounded up that lose most by being rounded down. */
export function percents(parts: number[]): string[] {
  const numbers = parts.map((part) => Math.floor(part * 100));
  const sum = (of: number[]) => of.reduce((all, one) => all + one, 0);
  const left = Math.round(sum(parts) * 100) - sum(numbers);
  const lost = (place: number) => (parts[place] ?? 0) * 100 - (numbers[place] ?? 0);
  const most = [...parts.keys()].sort((one, other) => lost(other) - lost(one)).slice(0, left);
  return parts.map((part, place) => said(part, (numbers[place] ?? 0) + (most.includes(place) ? 1 : 0)));
}

function said(share: number, value: number): string {
  if (share > 0 && share < 0.01) return '<1%';
  if (share > 0.99 && share < 1) return '>99%';
  return `${value}%`;
}
