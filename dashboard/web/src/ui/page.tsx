// The frame: where one is, the parts of the page, and whether what is shown is current.

import { useEffect, useRef } from 'preact/hooks';
import { ClusterPage } from '../cluster/cluster-page';
import { FleetPage } from '../fleet/fleet-page';
import { HistoryPage } from '../history/history-page';
import { PlanPage } from '../plan/plan-page';
import { UpgradePage } from '../upgrade/upgrade-page';
import { format, type Route } from '../url/route';
import { useRoute } from '../url/use-route';
import { printable } from '../words/text';
import { Banner, TokenExpired } from './banner';
import { DialogHost } from './dialog-host';
import { Guard } from './guard';
import { Masthead } from './masthead';
import { useStatus } from './use-app';

export function Page() {
  const app = useStatus();
  const route = useRoute();
  const main = useRef<HTMLElement>(null);
  // What is typed into a filter is in the address, and leads nowhere else.
  const place = route.page === 'fleet' || route.page === 'history' ? route.page : format(route);
  const first = useRef(true);
  useEffect(() => {
    document.title = title(route);
    // A new page is read from its beginning, also by screen readers.
    if (!first.current) main.current?.focus({ preventScroll: true });
    first.current = false;
    main.current?.scrollTo(0, 0);
  }, [place]);
  if (app.connection.is === 'refused' && app.connection.status === 401) return <TokenExpired signIn={app.connection.signIn === true} />;
  return (
    <div class="frame">
      <a class="skip" href="#main" onClick={(event) => skip(event, main.current)}>
        Skip to content
      </a>
      <Masthead route={route} />
      <Banner />
      <main id="main" ref={main} tabIndex={-1} class={`main ${route.page}`}>
        <Guard key={place} address={format(route)}>
          <Content route={route} />
        </Guard>
      </main>
      <DialogHost />
    </div>
  );
}

/** The fragment of the address is the route: it must not become `#main`. */
function skip(event: Event, main: HTMLElement | null): void {
  event.preventDefault();
  main?.focus();
}

function Content({ route }: { route: Route }) {
  switch (route.page) {
    case 'fleet':
      return <FleetPage query={route.query} />;
    case 'upgrade':
      return <UpgradePage key={route.key} upgrade={route.key} />;
    case 'cluster':
      return <ClusterPage key={route.name} name={route.name} />;
    case 'history':
      return <HistoryPage text={route.text} upgrade={route.upgrade} />;
    case 'plan':
      return <PlanPage upgrade={route.upgrade} />;
    case 'unknown':
      return (
        <div class="sheet">
          <h1>No page is here</h1>
          <p>
            The address leads to no page. <a href="#/fleet">See the fleet</a>.
          </p>
        </div>
      );
  }
}

function title(route: Route): string {
  switch (route.page) {
    case 'upgrade':
      return `${printable(route.key, 127)} · Drydock`;
    case 'cluster':
      return `${printable(route.name, 63)} · Drydock`;
    case 'history':
      return 'History · Drydock';
    case 'plan':
      return 'Plan · Drydock';
    case 'fleet':
      return 'Fleet · Drydock';
    case 'unknown':
      return 'No page · Drydock';
  }
}
