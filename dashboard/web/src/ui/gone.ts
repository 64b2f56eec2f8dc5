// What one may not see any more must not stay in a text or a dialog.

import { useEffect, useState } from 'preact/hooks';
import type { App } from '../app';
import { useStatus } from './use-app';

interface Known {
  connection: App['connection'];
  fleet: { revision: number | undefined; upgrades: ReadonlyMap<string, unknown> };
}

/**
 * Whether an upgrade is not listed, or nothing may be seen any more (also of none in particular). The list of a connection that is lost
 * stays as it is: nothing goes by that, and nothing comes back.
 */
export function isGone({ connection, fleet }: Known, key: string | undefined): boolean {
  if (connection.is === 'refused' && connection.status === 403) return true;
  return key !== undefined && fleet.revision !== undefined && !fleet.upgrades.has(key);
}

/** The same, rendering anew when it differs: not with each change of the fleet. */
export function useGone(key: string | undefined): boolean {
  const app = useStatus();
  const [, set] = useState(false);
  useEffect(() => {
    const look = () => set(isGone(app, key));
    look();
    return app.onFleet(look);
  }, [app, key]);
  return isGone(app, key);
}
