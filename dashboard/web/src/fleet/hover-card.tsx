// What is to be said of one cluster, beside its cell.

import { useLayoutEffect, useRef } from 'preact/hooks';
import type { ClusterRow } from '../store/columns';
import { useApp } from '../ui/use-app';
import { LevelLabel, StateLabel, Text } from '../ui/parts';
import { sentence } from '../words/sentence';
import { TODO } from '../words/text';
import { EDGE, type Layout } from './layout';

export function HoverCard({ at, cell, cluster, area }: { at: Layout; cell: number; cluster: ClusterRow; area: HTMLElement | null }) {
  const app = useApp();
  const card = useRef<HTMLDivElement>(null);
  const ring = useRef<HTMLDivElement>(null);
  const x = (cell % at.columns) * at.stepX + EDGE;
  const y = Math.floor(cell / at.columns) * at.stepY + EDGE;
  useLayoutEffect(() => {
    const [box, frame] = [card.current, ring.current];
    if (!box || !frame || !area) return;
    frame.style.transform = `translate(${x - 2}px, ${y - 2}px)`;
    frame.style.width = `${at.stepX - at.gap + 4}px`;
    frame.style.height = `${at.stepY - at.gap + 4}px`;
    // On the side of the cell where there is room: in the window, for the area may be lower than the card.
    const outer = area.getBoundingClientRect();
    const left = Math.max(0, Math.min(x + at.stepX + 8, area.clientWidth - box.offsetWidth));
    const below = y - area.scrollTop + at.stepY + 8;
    const fits = outer.top + below + box.offsetHeight <= innerHeight;
    const top = fits ? below : Math.max(8 - outer.top, y - area.scrollTop - box.offsetHeight - 8);
    box.style.transform = `translate(${left + outer.left}px, ${top + outer.top}px)`;
  });
  const said = sentence(cluster, app.clock.now());
  return (
    <>
      <div class="ring" ref={ring} />
      <div class="hover-card" ref={card} aria-hidden="true">
        <p class="hover-name">
          <Text of={cluster.name} limit={63} /> <StateLabel state={cluster.state} />
          {cluster.finding && <LevelLabel level={cluster.finding} />}
        </p>
        <p>
          <Text of={said.what} />
        </p>
        {said.when && <p class={said.late ? 'late' : 'quiet'}>{said.when}</p>}
        <p>
          <strong>What to do:</strong> <Text of={said.todo} limit={TODO} />
        </p>
        <p class="quiet">
          <Text of={cluster.version || 'version not known'} limit={63} />
          {cluster.upgrade && (
            <>
              {' · '}
              <Text of={cluster.upgrade} limit={127} />
            </>
          )}
          {cluster.canary === 1 && ' · canary'}
          {cluster.available === 0 && ' · not available'}
        </p>
      </div>
    </>
  );
}
