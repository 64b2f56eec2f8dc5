import { describe, expect, it } from 'vitest';
import { cellAt, layout, neighbor } from './layout';

describe('the layout', () => {
  it('fits ten thousand cells into a laptop without scrolling', () => {
    const at = layout(10_000, 1326, 459);
    expect(at.kind).toBe('squares');
    expect(at.height).toBeLessThanOrEqual(459);
    expect(at.stepX).toBeGreaterThanOrEqual(6);
  });
  it('has names where there is room', () => {
    expect(layout(12, 1326, 459).kind).toBe('sentences');
    expect(layout(120, 1326, 459).kind).toBe('names');
  });
  it.each([0, 1, 7, 100, 999, 10_000])('keeps %i cells in its width, each found where it is', (count) => {
    for (const [width, height] of [[320, 300], [390, 500], [1326, 459], [3800, 1900]] as const) {
      const at = layout(count, width, height);
      expect(at.width).toBeLessThanOrEqual(Math.max(width, at.stepX));
      for (const cell of [0, Math.floor(count / 2), count - 1]) {
        if (cell < 0 || cell >= count) continue;
        const x = (cell % at.columns) * at.stepX + 1;
        const y = Math.floor(cell / at.columns) * at.stepY + 1;
        expect(cellAt(at, count, x, y)).toBe(cell);
      }
    }
  });
  it('has no cell outside', () => {
    const at = layout(10, 100, 20);
    expect(cellAt(at, 10, -1, 0)).toBe(-1);
    expect(cellAt(at, 10, 1, 5000)).toBe(-1);
  });
  it('follows the keys and stays inside', () => {
    const at = layout(10_000, 1326, 459);
    expect(neighbor(at, 10_000, 5, 'ArrowRight')).toBe(6);
    expect(neighbor(at, 10_000, 5, 'ArrowDown')).toBe(5 + at.columns);
    expect(neighbor(at, 10_000, 5, 'ArrowUp')).toBe(5);
    expect(neighbor(at, 10_000, 9999, 'ArrowRight')).toBe(9999);
    expect(neighbor(at, 10_000, 5, 'End')).toBe(9999);
    expect(neighbor(at, 10_000, 5, 'x')).toBeUndefined();
  });
});
