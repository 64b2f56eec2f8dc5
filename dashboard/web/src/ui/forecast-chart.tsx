// How many clusters have ended when: up to now as it was, then the band of eight of ten of the runs that end, and the middle of them.

import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import type { EndedPoint, CurvePoint, Forecast } from '../api/types';
import { useTheme } from './theme';

const HEIGHT = 240;
/** Steps of the axis of clusters: there is no half of one. */
const WHOLE = [0, 1, 2, 3, 4, 5].flatMap((power) => [1, 2, 5].map((step) => step * 10 ** power));

interface Shown {
  forecasts: Forecast[];
  ended: EndedPoint[];
  now: number;
  total?: number | undefined;
}

export default function ForecastChart({ forecasts, ended, now, total }: Shown) {
  const box = useRef<HTMLDivElement>(null);
  const { dark } = useTheme();
  const curves = forecasts.map((forecast) => forecast.curve ?? []);
  const minute = Math.floor(now / 60);
  useEffect(() => {
    const element = box.current as HTMLElement;
    const plot = new uPlot(options(element, forecasts, now, total), data(curves, ended, now) as uPlot.AlignedData, element);
    const observer = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: HEIGHT }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      plot.destroy();
    };
  }, [forecasts[0], forecasts[1], ended, total, dark, minute]);
  return (
    <figure class="chart">
      <div ref={box} role="img" aria-label="Ended clusters over time: the text says the same in figures." />
      <figcaption>
        Clusters that have ended, complete or failed, over time
        {forecasts.length > 1 ? ':' : `: ${ended.length > 0 ? 'up to now as it was, then ' : ''}the middle, and the band of eight of ten, ${forecasts[0]?.p50 ? 'of those runs that end' : 'of all runs, none of which ends'}.`}
        {forecasts.length > 1 &&
          forecasts.map((_, i) => (
            <span key={i} class="chart-key">
              <span class={`swatch chart-${i}`} aria-hidden="true" />
              {i === 0 ? 'first' : 'second'}
            </span>
          ))}
      </figcaption>
    </figure>
  );
}

/** All curves at all of their moments; a curve stays at a count until the next one, which uPlot draws over the gaps. */
function data(curves: CurvePoint[][], ended: EndedPoint[], now: number): (number | null)[][] {
  // What has ended stays so until now.
  const last = ended.at(-1);
  const past = last && last.at < now ? [...ended, { at: Math.floor(now), ended: last.ended }] : ended;
  const times = [...new Set([...past, ...curves.flat()].map((point) => point.at))].sort((a, b) => a - b);
  const count = new Map(past.map((point) => [point.at, point.ended]));
  const series = curves.flatMap((curve) => {
    const at = new Map(curve.map((point) => [point.at, point]));
    return (['p10', 'p50', 'p90'] as const).map((key) => times.map((time) => at.get(time)?.[key] ?? null));
  });
  return [times, ...series, times.map((time) => count.get(time) ?? null)];
}

function options(element: HTMLElement, forecasts: Forecast[], now: number, total: number | undefined): uPlot.Options {
  const style = getComputedStyle(element);
  const color = (name: string) => style.getPropertyValue(name).trim();
  const axis = { stroke: color('--chart-text'), grid: { stroke: color('--chart-grid'), width: 1 }, ticks: { stroke: color('--chart-grid'), width: 1 }, font: '12px system-ui, sans-serif' };
  const series: uPlot.Series[] = [{}];
  const bands: uPlot.Band[] = [];
  const stepped = { points: { show: false }, spanGaps: true, paths: uPlot.paths.stepped?.({ align: 1 }) } as const;
  forecasts.forEach((_, i) => {
    const line = color(`--chart-line-${i}`);
    const edge: uPlot.Series = { ...stepped, stroke: line, width: 0 };
    series.push(edge, { ...stepped, stroke: line, width: 2, label: 'p50' }, edge);
    bands.push({ series: [i * 3 + 3, i * 3 + 1], fill: color(`--chart-band-${i}`) }, { series: [i * 3 + 1, i * 3 + 3], fill: color(`--chart-band-${i}`) });
  });
  series.push({ ...stepped, stroke: color('--chart-past'), width: 2, label: 'ended' });
  return {
    width: element.clientWidth || 600,
    height: HEIGHT,
    tzDate: (at) => uPlot.tzDate(new Date(at * 1000), 'Etc/UTC'),
    legend: { show: false },
    cursor: { show: false },
    scales: { y: { range: (_plot, _min, max) => [0, Math.max(1, total ?? 0, max)] } },
    axes: [
      { ...axis, space: 90, values: (_plot, splits, _axis, _space, step) => splits.map((at) => label(at, step)) },
      { ...axis, size: 56, space: 40, incrs: WHOLE },
    ],
    series,
    bands,
    hooks: { draw: [(plot) => drawNow(plot, now, color('--chart-now'))] },
  };
}

function label(at: number, step: number): string {
  const time = new Date(at * 1000);
  const two = (value: number) => String(value).padStart(2, '0');
  const day = `${two(time.getUTCMonth() + 1)}-${two(time.getUTCDate())}`;
  return step >= 86_400 ? day : `${day} ${two(time.getUTCHours())}:${two(time.getUTCMinutes())}`;
}

function drawNow(plot: uPlot, now: number, color: string): void {
  const x = plot.valToPos(now, 'x', true);
  const { left, top, width, height } = plot.bbox;
  if (x < left || x > left + width) return;
  plot.ctx.save();
  plot.ctx.strokeStyle = color;
  plot.ctx.setLineDash([4, 4]);
  plot.ctx.beginPath();
  plot.ctx.moveTo(x, top);
  plot.ctx.lineTo(x, top + height);
  plot.ctx.stroke();
  plot.ctx.restore();
}
