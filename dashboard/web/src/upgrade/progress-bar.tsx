import type { Counts } from '../api/types';
import { count, printable } from '../words/text';

const PARTS = ['complete', 'inFlight', 'failed', 'other'] as const;

/** How many clusters are complete, in flight and failed, to scale. The attributes of SVG are no inline styles. */
export function ProgressBar({ counts, label }: { counts: Counts; label: string }) {
  const total = Math.max(1, counts.selected);
  let from = 0;
  const text = `${count(counts.complete)} of ${count(counts.selected)} complete, ${count(counts.inFlight)} in flight, ${count(counts.failed)} failed`;
  return (
    <svg class="progress" role="img" aria-label={`Progress of ${printable(label, 127)}: ${text}`} width="100%" height="10">
      <rect class="progress-ground" width="100%" height="10" rx="3" />
      {PARTS.map((part) => {
        const share = (counts[part] / total) * 100;
        if (share <= 0) return null;
        const x = from;
        from += share;
        // A single cluster of ten thousand must be seen.
        return <rect key={part} class={`progress-${part}`} x={`${x}%`} width={`${Math.max(share, 0.25)}%`} height="10" />;
      })}
    </svg>
  );
}
