import { ALL_CLUSTERS, format, type Route } from '../url/route';
import { Text } from './parts';
import { useTheme } from './theme';
import { useStatus } from './use-app';

const PLACES: { page: Route['page']; label: string; route: Route }[] = [
  { page: 'fleet', label: 'Fleet', route: { page: 'fleet', query: ALL_CLUSTERS } },
  { page: 'history', label: 'History', route: { page: 'history', text: '', upgrade: '' } },
  { page: 'plan', label: 'Plan', route: { page: 'plan', upgrade: '' } },
];

export function Masthead({ route }: { route: Route }) {
  const { session, connection } = useStatus();
  const { dark, toggle } = useTheme();
  const live = connection.is === 'live';
  return (
    <header class="masthead">
      <a class="brand" href="#/fleet">
        <svg viewBox="0 0 16 16" width="20" height="20" aria-hidden="true">
          <rect class="brand-a" x="1" y="1" width="6" height="6" rx="1" />
          <rect class="brand-a" x="9" y="1" width="6" height="6" rx="1" />
          <rect class="brand-b" x="1" y="9" width="6" height="6" rx="1" />
          <rect class="brand-c" x="9" y="9" width="6" height="6" rx="1" />
        </svg>
        Drydock
      </a>
      <nav aria-label="Pages">
        {PLACES.map((place) => (
          <a key={place.page} href={format(place.route)} aria-current={route.page === place.page ? 'page' : undefined}>
            {place.label}
          </a>
        ))}
      </nav>
      <span class="spread" />
      <span class="where-tag" title="All times are of UTC, as the plugin and all messages have them">UTC</span>
      {session?.sandbox && <span class="where-tag">sandbox</span>}
      {session && (
        <span class="where" title={`${session.user} at ${session.where}`}>
          <Text of={session.where} limit={80} />
          <span class="who">
            <Text of={session.user} limit={60} />
            {session.readOnly && ', read only'}
          </span>
        </span>
      )}
      <span class={`live ${live ? 'on' : ''}`}>{live ? 'live' : connection.is === 'loading' ? 'loading' : 'not connected'}</span>
      <button type="button" class="theme" onClick={toggle} aria-label={dark ? 'Use the light theme' : 'Use the dark theme'}>
        <svg viewBox="0 0 16 16" width="16" height="16" fill="currentColor" aria-hidden="true">
          {dark ? (
            <path d="M8 4.5a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7ZM7.3 0h1.4v2.6H7.3V0Zm0 13.4h1.4V16H7.3v-2.6ZM0 7.3h2.6v1.4H0V7.3Zm13.4 0H16v1.4h-2.6V7.3ZM1.8 2.8l1-1 1.9 1.9-1 1-1.9-1.9Zm9.5 9.5 1-1 1.9 1.9-1 1-1.9-1.9Zm1.9-10.5 1 1-1.9 1.9-1-1 1.9-1.9ZM3.7 11.3l1 1-1.9 1.9-1-1 1.9-1.9Z" />
          ) : (
            <path d="M6.2 1A7 7 0 1 0 15 9.8 6 6 0 0 1 6.2 1Z" />
          )}
        </svg>
      </button>
    </header>
  );
}
