// What the colors mean, how many clusters have each, and a way to see these alone.

import { count } from '../words/text';
import { Text } from '../ui/parts';
import type { ColorMode } from './color-modes';
import type { LegendEntry } from './coloring';

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
