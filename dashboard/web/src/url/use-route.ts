import { useEffect, useState } from 'preact/hooks';
import { type FleetQuery, format, parse, type Route } from './route';

export function useRoute(): Route {
  const [route, set] = useState(() => parse(location.hash));
  useEffect(() => {
    const read = () => set(parse(location.hash));
    addEventListener('hashchange', read);
    return () => removeEventListener('hashchange', read);
  }, []);
  return route;
}

export function go(route: Route): void {
  location.hash = format(route);
}

/** Changes the address without a step in the history of the browser: for what is typed letter by letter. */
export function refine(query: FleetQuery): void {
  history.replaceState(null, '', format({ page: 'fleet', query }));
  dispatchEvent(new HashChangeEvent('hashchange'));
}
