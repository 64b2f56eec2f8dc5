// Where the cells are: as large as the room allows, with their names where there is room for these.

/** Room around the cells for the ring around one of them, as in the style sheet. */
export const EDGE = 4;

export type Kind = 'squares' | 'names' | 'sentences';

export interface Layout {
  columns: number;
  /** From one cell to the next, in CSS pixels. */
  stepX: number;
  stepY: number;
  gap: number;
  /** Squares; tiles with names; or, for a few clusters, tiles with what each waits for. */
  kind: Kind;
  width: number;
  height: number;
}

const NAMES = { width: 132, widest: 200, lowest: 28, highest: 42, gap: 4 };
const SENTENCES = { width: 250, widest: 420, lowest: 58, highest: 58, gap: 8 };
const LARGEST = 44;
/** Smaller cells cannot be hit; rather the area scrolls. */
const SMALLEST = 6;

export function layout(count: number, width: number, height: number): Layout {
  const tiles = tiled(count, width, height, SENTENCES, 'sentences') ?? tiled(count, width, height, NAMES, 'names');
  if (tiles) return tiles;
  let step = LARGEST;
  while (step > SMALLEST && Math.ceil(count / Math.floor((width + 1) / step)) * step > height) step--;
  return cells(count, Math.max(1, Math.floor((width + 1) / step)), step, step, step < 10 ? 1 : 2, 'squares');
}

function tiled(count: number, width: number, height: number, tile: typeof NAMES, kind: Kind): Layout | undefined {
  // The gap after the last column is outside.
  const most = Math.max(1, Math.floor((width + tile.gap) / (tile.width + tile.gap)));
  const lines = Math.max(1, Math.ceil(count / most));
  const stepY = Math.min(Math.floor(height / lines), tile.highest + tile.gap);
  if (stepY < tile.lowest + tile.gap) return undefined;
  const stepX = Math.min((width + tile.gap) / most, tile.widest);
  const columns = Math.max(1, Math.min(Math.floor((width + tile.gap) / stepX + 0.001), count));
  return cells(count, columns, stepX, stepY, tile.gap, kind);
}

function cells(count: number, columns: number, stepX: number, stepY: number, gap: number, kind: Kind): Layout {
  const lines = Math.ceil(count / columns);
  return { columns, stepX, stepY, gap, kind, width: columns * stepX - gap, height: lines * stepY - gap };
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
