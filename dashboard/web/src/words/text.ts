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
  const value = share * 100;
  if (value > 0 && value < 1) return '<1%';
  if (value > 99 && value < 100) return '>99%';
  return `${Math.round(value)}%`;
}
