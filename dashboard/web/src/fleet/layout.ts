// Where the cells are: as large as the room allows, with their names where there is room for these.

export interface Layout {
  columns: number;
  /** From one cell to the next, in CSS pixels. */
  stepX: number;
  stepY: number;
  gap: number;
  /** Whether the cells are tiles with names. */
  named: boolean;
  width: number;
  height: number;
}

const TILE = { width: 116, lowest: 28, highest: 42, gap: 4 };
const LARGEST = 44;
/** Smaller cells cannot be hit; rather the area scrolls. */
const SMALLEST = 6;

export function layout(count: number, width: number, height: number): Layout {
  const tiles = Math.max(1, Math.floor(width / (TILE.width + TILE.gap)));
  const lines = Math.max(1, Math.ceil(count / tiles));
  const stepY = Math.min(Math.floor(height / lines), TILE.highest + TILE.gap);
  if (stepY >= TILE.lowest + TILE.gap) {
    const stepX = Math.min(Math.floor(width / tiles), 180);
    return cells(count, Math.max(1, Math.min(Math.floor(width / stepX), count)), stepX, stepY, TILE.gap, true);
  }
  let step = LARGEST;
  while (step > SMALLEST && Math.ceil(count / Math.floor(width / step)) * step > height) step--;
  return cells(count, Math.max(1, Math.floor(width / step)), step, step, step < 10 ? 1 : 2, false);
}

function cells(count: number, columns: number, stepX: number, stepY: number, gap: number, named: boolean): Layout {
  const lines = Math.ceil(count / columns);
  return { columns, stepX, stepY, gap, named, width: columns * stepX, height: lines * stepY };
}

/** The cell at a point; -1 where there is none. */
export function cellAt(at: Layout, count: number, x: number, y: number): number {
  const column = Math.floor(x / at.stepX);
  const line = Math.floor(y / at.stepY);
  if (column < 0 || column >= at.columns || line < 0) return -1;
  const cell = line * at.columns + column;
  return cell < count ? cell : -1;
}

/** The cell that a key leads to. */
export function neighbor(at: Layout, count: number, cell: number, key: string): number | undefined {
  const moved = {
    ArrowRight: cell + 1,
    ArrowLeft: cell - 1,
    ArrowDown: cell + at.columns,
    ArrowUp: cell - at.columns,
    PageDown: Math.min(count - 1, cell + at.columns * 10),
    PageUp: Math.max(0, cell - at.columns * 10),
    Home: 0,
    End: count - 1,
  }[key];
  if (moved === undefined) return undefined;
  return moved < 0 || moved >= count ? cell : moved;
}
