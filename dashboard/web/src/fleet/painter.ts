// Draws the cells. Nothing is drawn while nothing changes, and of a change only the cells that look different now.

import { printable } from '../words/text';
import { SLOTS } from './color-modes';
import type { Layout } from './layout';
import { MARK } from './marks';

export interface Picture {
  layout: Layout;
  /** The row of each cell. */
  rows: Uint32Array;
  /** The color of each row, an index into SLOTS. */
  slots: Uint8Array;
  /** The marks of each row. */
  marks: Uint8Array;
  name(row: number): string;
  /** What the cluster waits for. */
  what(row: number): string;
}

export class Painter {
  private readonly context: CanvasRenderingContext2D;
  private colors: string[] = [];
  private ink = { ground: '', text: '', quiet: '', mark: '', tile: '' };
  private drawn: Uint16Array | undefined;
  private ratio = 1;

  constructor(private readonly canvas: HTMLCanvasElement) {
    // Opaque, so that the browser need not blend it.
    this.context = canvas.getContext('2d', { alpha: false }) as CanvasRenderingContext2D;
    this.readColors();
  }

  /** Reads the colors of the theme; everything is drawn anew then. */
  readColors(): void {
    const style = getComputedStyle(this.canvas);
    const read = (name: string) => style.getPropertyValue(`--fleet-${name}`).trim();
    this.colors = SLOTS.map(read);
    this.ink = {
      ground: read('ground'),
      text: read('text'),
      quiet: read('quiet'),
      mark: read('mark'),
      tile: read('tile'),
    };
    this.drawn = undefined;
  }

  resize(layout: Layout): void {
    this.ratio = devicePixelRatio || 1;
    const width = Math.max(1, Math.round(layout.width * this.ratio));
    const height = Math.max(1, Math.round(layout.height * this.ratio));
    if (this.canvas.width !== width || this.canvas.height !== height) {
      this.canvas.width = width;
      this.canvas.height = height;
    }
    this.canvas.style.width = `${layout.width}px`;
    this.canvas.style.height = `${layout.height}px`;
    this.drawn = undefined;
  }

  draw(picture: Picture): void {
    if (picture.layout.kind !== 'squares') this.tiles(picture);
    else this.squares(picture);
  }

  private clear(): void {
    this.context.setTransform(1, 0, 0, 1, 0, 0);
    this.context.fillStyle = this.ink.ground;
    this.context.fillRect(0, 0, this.canvas.width, this.canvas.height);
  }

  private squares({ layout, rows, slots, marks }: Picture): void {
    if (this.drawn?.length !== rows.length) {
      this.clear();
      // No cell looks like this.
      this.drawn = new Uint16Array(rows.length).fill(0xffff);
    }
    const drawn = this.drawn;
    const cells: number[][] = SLOTS.map(() => []);
    for (let cell = 0; cell < rows.length; cell++) {
      const row = rows[cell] as number;
      const look = (slots[row] as number) | ((marks[row] as number) << 8);
      if (drawn[cell] === look) continue;
      drawn[cell] = look;
      cells[slots[row] as number]?.push(cell);
    }
    const { context, ratio } = this;
    const size = layout.stepX - layout.gap;
    context.setTransform(1, 0, 0, 1, 0, 0);
    // By color: to change the color is what costs.
    cells.forEach((list, slot) => {
      if (list.length === 0) return;
      context.fillStyle = this.colors[slot] as string;
      for (const cell of list) {
        const x = Math.round((cell % layout.columns) * layout.stepX * ratio);
        const y = Math.round(Math.floor(cell / layout.columns) * layout.stepY * ratio);
        context.fillRect(x, y, Math.round(size * ratio), Math.round(size * ratio));
      }
    });
    for (const list of cells) {
      for (const cell of list) {
        const mark = marks[rows[cell] as number] as number;
        if (mark !== 0) this.mark(mark, (cell % layout.columns) * layout.stepX, Math.floor(cell / layout.columns) * layout.stepY, size);
      }
    }
  }

  /** A cross for failed, a corner for late, a hole for not available, a dot for a canary. */
  private mark(mark: number, x: number, y: number, size: number): void {
    const { context } = this;
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    if (mark & MARK.failed && size >= 5) {
      context.strokeStyle = this.ink.ground;
      context.lineWidth = Math.max(1, size / 9);
      const inset = size * 0.25;
      context.beginPath();
      context.moveTo(x + inset, y + inset);
      context.lineTo(x + size - inset, y + size - inset);
      context.moveTo(x + size - inset, y + inset);
      context.lineTo(x + inset, y + size - inset);
      context.stroke();
    }
    if (mark & MARK.unavailable) {
      const inset = Math.max(1, Math.round(size * 0.3));
      context.fillStyle = this.ink.ground;
      context.fillRect(x + inset, y + inset, size - 2 * inset, size - 2 * inset);
    }
    if (mark & MARK.late) {
      context.fillStyle = this.ink.mark;
      context.beginPath();
      context.moveTo(x + size * 0.4, y);
      context.lineTo(x + size, y);
      context.lineTo(x + size, y + size * 0.6);
      context.fill();
    }
    if (mark & MARK.canary && size >= 12) {
      context.fillStyle = this.ink.ground;
      context.beginPath();
      context.arc(x + size * 0.24, y + size * 0.76, Math.max(1.5, size * 0.11), 0, 2 * Math.PI);
      context.fill();
    }
  }

  private tiles({ layout, rows, slots, marks, name, what }: Picture): void {
    this.clear();
    const { context, ratio } = this;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const width = layout.stepX - layout.gap;
    const height = layout.stepY - layout.gap;
    const sentences = layout.kind === 'sentences';
    context.textBaseline = 'middle';
    rows.forEach((row, cell) => {
      const x = (cell % layout.columns) * layout.stepX;
      const y = Math.floor(cell / layout.columns) * layout.stepY;
      const middle = y + (sentences ? 20 : height / 2);
      this.rounded(x, y, width, height, 6, this.ink.tile);
      this.rounded(x + 8, middle - 8, 16, 16, 3, this.colors[slots[row] as number] as string);
      if (marks[row]) this.mark(marks[row] as number, x + 8, middle - 8, 16);
      context.font = sentences ? '600 14px system-ui, sans-serif' : '13px system-ui, sans-serif';
      // The end of a name is what tells clusters apart.
      this.text(name(row), x + 32, middle + 1, width - 40, this.ink.text, 6);
      if (!sentences) return;
      context.font = '12px system-ui, sans-serif';
      this.text(what(row), x + 32, y + 41, width - 40, this.ink.quiet);
    });
    this.drawn = undefined;
  }

  private rounded(x: number, y: number, width: number, height: number, radius: number, color: string): void {
    const { context } = this;
    context.fillStyle = color;
    context.beginPath();
    context.roundRect(x, y, width, height, radius);
    context.fill();
  }

  private text(text: string, x: number, y: number, width: number, color: string, keep = 0): void {
    this.context.fillStyle = color;
    this.context.fillText(this.fit(text, width, keep), x, y);
  }

  /** As much of a text as there is room for, with its last `keep` characters. */
  private fit(whole: string, width: number, keep: number): string {
    const text = printable(whole, 80);
    if (this.context.measureText(text).width <= width) return text;
    const end = `…${keep > 0 ? text.slice(-keep) : ''}`;
    let length = text.length - keep;
    while (length > 1 && this.context.measureText(text.slice(0, length) + end).width > width) length--;
    return text.slice(0, length) + end;
  }
}
