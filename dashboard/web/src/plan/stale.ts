// Whether somebody has changed an upgrade since its text was opened.

import { useEffect, useRef, useState } from 'preact/hooks';
import { api } from '../api/client';
import { useStatus } from '../ui/use-app';

/** Whether the upgrade is of another edition than the text, and than all that the text was written as: what is read just after a write may be from before it. */
export function useIsStale(upgrade: string, edition: string | undefined): boolean {
  const { uid, generation } = useStatus().fleet.upgrades.get(upgrade) ?? {};
  const [present, setPresent] = useState<string | undefined>();
  useEffect(() => {
    setPresent(undefined);
    if (upgrade === '' || edition === undefined) return undefined;
    const stop = new AbortController();
    // Where it cannot be read, applying says what there is to say.
    api.upgrade(upgrade, stop.signal).then((read) => setPresent(read.edition), () => undefined);
    return () => stop.abort();
  }, [upgrade, edition, uid, generation]);
  const seen = useRef(new Set<string>());
  if (edition !== undefined) seen.current.add(edition);
  return present !== undefined && edition !== undefined && !seen.current.has(present);
}
