// The fleet as cells on a canvas, with a card about the one that is pointed at or chosen by the arrow keys.

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { go } from '../url/use-route';
import { useApp } from '../ui/use-app';
import { useTheme } from '../ui/theme';
import { sentence, spoken } from '../words/sentence';
import { count } from '../words/text';
import { HoverCard } from './hover-card';
import { cellAt, EDGE, layout, neighbor } from './layout';
import { Painter } from './painter';

interface Chosen {
  /** By name: rows move when clusters come and go. */
  name: string;
  by: 'pointer' | 'keyboard';
}

export function Cells({ rows, slots, marks }: { rows: Uint32Array; slots: Uint8Array; marks: Uint8Array }) {
  const app = useApp();
  const table = app.fleet.clusters;
  const area = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const painter = useRef<Painter | undefined>(undefined);
  const room = useRoom(area);
  const { dark } = useTheme();
  const [chosen, choose] = useState<Chosen | undefined>();
  const at = useMemo(() => layout(rows.length, room.width, room.height), [rows.length, room.width, room.height]);

  useLayoutEffect(() => {
    if (!canvas.current) return;
    painter.current ??= new Painter(canvas.current);
    painter.current.readColors();
  }, [dark]);
  useLayoutEffect(() => painter.current?.resize(at), [at, room.ratio]);
  useLayoutEffect(() => {
    painter.current?.draw({ layout: at, rows, slots, marks, name: (row) => table.name[row] ?? '', what: (row) => sentence(table.read(row), app.clock.now()).what });
  }, [at, room.ratio, rows, slots, marks, dark]);

  useEffect(() => {
    // The card is where the cell was before the page was scrolled.
    const leave = () => choose((last) => (last?.by === 'pointer' ? undefined : last));
    addEventListener('scroll', leave, { capture: true, passive: true });
    return () => removeEventListener('scroll', leave, { capture: true });
  }, []);

  const row = chosen ? table.find(chosen.name) : -1;
  const cell = row < 0 ? -1 : rows.indexOf(row);
  const pick = (to: number, by: Chosen['by']) => {
    const name = table.name[rows[to] ?? -1];
    // Within a cell the pointer moves without a change.
    choose((last) => (to < 0 || name === undefined ? undefined : last?.name === name && last.by === by ? last : { name, by }));
  };
  const open = (which: number) => {
    const name = table.name[rows[which] ?? -1];
    if (name !== undefined) go({ page: 'cluster', name });
  };
  const under = (event: PointerEvent | MouseEvent) => {
    const box = (canvas.current as HTMLCanvasElement).getBoundingClientRect();
    return cellAt(at, rows.length, event.clientX - box.left, event.clientY - box.top);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Escape') return choose(undefined);
    if (event.key === 'Enter' && cell >= 0) return open(cell);
    const to = neighbor(at, rows.length, cell, event.key);
    if (to === undefined || event.ctrlKey || event.metaKey || event.altKey) return undefined;
    event.preventDefault();
    pick(cell < 0 ? 0 : to, 'keyboard');
    scrollTo(area.current as HTMLElement, Math.floor((cell < 0 ? 0 : to) / at.columns) * at.stepY, at.stepY);
    return undefined;
  };
  // Read out once, and again when something else is so: not when only the time has passed.
  const chosenNow = cell >= 0 && chosen?.by === 'keyboard' ? table.read(row) : undefined;
  const announced = useMemo(() => (chosenNow ? spoken(chosenNow, app.clock.now()) : ''), [JSON.stringify(chosenNow)]);
  // A finger cannot hover: its first touch chooses, the second opens.
  const touched = useRef(-1);
  return (
    <div
      class="cells"
      ref={area}
      tabIndex={0}
      role="application"
      aria-label={`Fleet: ${count(rows.length)} clusters as cells. Arrow keys choose a cluster, Enter opens it. “Table” shows the same as a table.`}
      onKeyDown={onKeyDown}
      onFocus={() => cell < 0 && matches(area.current) && pick(0, 'keyboard')}
      onBlur={() => chosen?.by === 'keyboard' && choose(undefined)}
    >
      <canvas
        ref={canvas}
        aria-hidden="true"
        onPointerMove={(event) => event.pointerType !== 'touch' && pick(under(event), 'pointer')}
        onPointerLeave={(event) => event.pointerType !== 'touch' && chosen?.by === 'pointer' && choose(undefined)}
        onClick={(event) => {
          const which = under(event);
          const touch = (event as unknown as PointerEvent).pointerType === 'touch';
          if (which >= 0 && (!touch || touched.current === which)) return open(which);
          touched.current = which;
          pick(which, 'pointer');
        }}
      />
      {cell >= 0 && chosen && <HoverCard at={at} cell={cell} cluster={table.read(row)} area={area.current} />}
      <div class="visually-hidden" aria-live="polite">
        {announced}
      </div>
    </div>
  );
}

/** Whether the focus came by the keyboard. */
function matches(element: HTMLElement | null): boolean {
  return element?.matches(':focus-visible') ?? false;
}

function scrollTo(area: HTMLElement, top: number, height: number): void {
  if (top < area.scrollTop) area.scrollTop = top;
  else if (top + height > area.scrollTop + area.clientHeight) area.scrollTop = top + height - area.clientHeight;
}

/** How much room there is, without a scroll bar. */
function useRoom(area: { current: HTMLElement | null }): { width: number; height: number; ratio: number } {
  const [room, set] = useState({ width: 800, height: 400, ratio: 1 });
  useLayoutEffect(() => {
    const element = area.current as HTMLElement;
    const measure = () => {
      const next = { width: element.clientWidth - 2 * EDGE, height: element.clientHeight - 2 * EDGE, ratio: devicePixelRatio };
      set((last) => (last.width === next.width && last.height === next.height && last.ratio === next.ratio ? last : next));
    };
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    measure();
    return () => observer.disconnect();
  }, []);
  return room;
}
