// Natural order: numbers in names count as numbers, so that dev2 comes before dev10.

const PARTS = /(\d+)/;

export function naturalCompare(left: string, right: string): number {
  const a = left.split(PARTS);
  const b = right.split(PARTS);
  for (let i = 0; i < a.length && i < b.length; i++) {
    const x = a[i] as string;
    const y = b[i] as string;
    if (x === y) continue;
    // Every second part is a number; split gives them at the odd places.
    if (i % 2 === 1) {
      const p = x.replace(/^0+/, '');
      const q = y.replace(/^0+/, '');
      if (p.length !== q.length) return p.length - q.length;
      if (p !== q) return p < q ? -1 : 1;
      continue;
    }
    return x < y ? -1 : 1;
  }
  if (a.length !== b.length) return a.length - b.length;
  return left < right ? -1 : left > right ? 1 : 0;
}
