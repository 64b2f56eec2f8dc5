// Whether what is shown is current. Nobody must take an old picture for the present.

import { useEffect, useState } from 'preact/hooks';
import { duration } from '../words/time';
import { Alert, Button } from './parts';
import { useStatus, useTick } from './use-app';

/** A connection that comes back at once is not worth a banner. */
const GRACE = 1500;

export function Banner() {
  const app = useStatus();
  const { connection } = app;
  const [late, setLate] = useState(false);
  const cut = connection.is === 'cut';
  useEffect(() => {
    setLate(false);
    if (!cut) return undefined;
    const timer = setTimeout(() => setLate(true), GRACE);
    return () => clearTimeout(timer);
  }, [cut]);
  if (connection.is === 'refused') {
    return (
      <div class="banner">
        <Alert kind="danger" live title="The server refuses to show the fleet.">
          {connection.why}
        </Alert>
      </div>
    );
  }
  if (connection.is !== 'cut' || !late) return null;
  const empty = app.fleet.revision === undefined;
  return (
    <div class="banner">
      <Alert kind="warning" live title={<>Not connected{empty ? '' : <>: what is shown is <Age since={connection.since} /> old</>}.</>}>
        {connection.why}; the page tries again by itself. <Button kind="link" small onClick={() => app.retryNow()}>Try now</Button>
      </Alert>
    </div>
  );
}

function Age({ since }: { since: number }) {
  useTick(1000);
  // Read out once, not every second.
  return <span aria-live="off">{duration((Date.now() - since) / 1000)}</span>;
}

export function TokenExpired() {
  return (
    <main class="expired">
      <h1>The token has expired</h1>
      <p>The server does not know the token of this page, or not any more. Run this again, it opens a page with a new one:</p>
      <pre>
        <code>kubectl drydock dashboard</code>
      </pre>
      <p>In the hub cluster, sign in again.</p>
    </main>
  );
}
