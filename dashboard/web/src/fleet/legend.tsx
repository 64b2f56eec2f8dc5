// What the colors mean, how many clusters have each, and a way to see these alone.

import { count } from '../words/text';
import { Text } from '../ui/parts';
import type { ColorMode } from './color-modes';
import type { LegendEntry } from './coloring';
import type { Mark } from './marks';

export function Legend(props: {
  entries: LegendEntry[];
  mode: ColorMode;
  only: string | undefined;
  onPick: (value: string) => void;
}) {
  return (
    <ul class="legend" aria-label={`Legend: clusters by ${props.mode}`}>
      {props.entries.map((entry) => (
        <li key={entry.value ?? 'others'}>
          <Entry entry={entry} pressed={props.only !== undefined && props.only === entry.value} onPick={props.onPick} />
        </li>
      ))}
    </ul>
  );
}

function Entry({ entry, pressed, onPick }: { entry: LegendEntry; pressed: boolean; onPick: (value: string) => void }) {
  const content = (
    <>
      <span class={`swatch slot-${entry.slot}`} aria-hidden="true" />
      <Text of={entry.label} limit={63} />
      <span class="number">{count(entry.count)}</span>
    </>
  );
  const { value } = entry;
  if (value === undefined) return <span class="entry">{content}</span>;
  return (
    <button type="button" class="entry" aria-pressed={pressed} title={entry.meaning} onClick={() => onPick(value)}>
      {content}
    </button>
  );
}

const MARK_LABEL: Record<Mark, string> = {
  failed: 'failed',
  late: 'longer than usual',
  unavailable: 'not available',
  canary: 'canary',
};

/** What the marks on the cells mean; those that there are. */
export function MarkLegend({ counts }: { counts: Record<Mark, number> }) {
  const there = (Object.keys(MARK_LABEL) as Mark[]).filter((mark) => counts[mark] > 0);
  if (there.length === 0) return null;
  return (
    <ul class="legend marks" aria-label="Marks on the cells">
      {there.map((mark) => (
        <li key={mark} class="entry">
          <svg viewBox="0 0 12 12" width="12" height="12" aria-hidden="true">
            <rect class="mark-cell" width="12" height="12" rx="2" />
            <MarkShape mark={mark} />
          </svg>
          {MARK_LABEL[mark]} <span class="number">{count(counts[mark])}</span>
        </li>
      ))}
    </ul>
  );
}

/** As the painter draws it. */
function MarkShape({ mark }: { mark: Mark }) {
  switch (mark) {
    case 'failed':
      return <path class="mark-line" d="M3 3l6 6M9 3l-6 6" />;
    case 'late':
      return <path class="mark-corner" d="M5 0h7v7z" />;
    case 'unavailable':
      return <rect class="mark-fill" x="4" y="4" width="4" height="4" />;
    case 'canary':
      return <circle class="mark-fill" cx="3" cy="9" r="1.6" />;
  }
}
