// Whether what is shown is current. Nobody must take an old picture for the present.

import { useEffect, useState } from 'preact/hooks';
import { keepToken, token } from '../api/token';
import { duration } from '../words/time';
import { Alert, Button } from './parts';
import { useStatus, useTick } from './use-app';

/** A connection that comes back at once is not worth a banner. */
const GRACE = 1500;

export function Banner() {
  const app = useStatus();
  const { connection } = app;
  const late = useLasting(connection.is === 'cut');
  if (connection.is === 'refused') {
    return (
      <div class="banner">
        <Alert kind="danger" live title="The server refuses to show the fleet.">
          {connection.why}
        </Alert>
      </div>
    );
  }
  if (connection.is === 'live' && app.session?.notice) {
    return (
      <div class="banner">
        <Alert kind="info" title={app.session.notice} />
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

/** Whether something is so, and has been for a while. */
function useLasting(is: boolean): boolean {
  const [lasting, set] = useState(false);
  useEffect(() => {
    set(false);
    if (!is) return undefined;
    const timer = setTimeout(() => set(true), GRACE);
    return () => clearTimeout(timer);
  }, [is]);
  return is && lasting;
}

/** The same for a dialog, which covers the banner: why its action is disabled. */
export function NothingCanBeDone() {
  const { connection } = useStatus();
  const late = useLasting(connection.is !== 'live');
  if (connection.is === 'refused') {
    return (
      <Alert kind="danger" title="The server refuses to show the fleet: nothing can be done.">
        {connection.why}
      </Alert>
    );
  }
  if (!late) return null;
  return (
    <Alert kind="warning" title="Not connected: nothing can be done until the page is connected again.">
      {connection.is === 'cut' && `${connection.why}; the page tries again by itself.`}
    </Alert>
  );
}

function Age({ since }: { since: number }) {
  useTick(1000);
  // Read out once, not every second.
  return <span aria-live="off">{duration((Date.now() - since) / 1000)}</span>;
}

export function TokenExpired({ signIn }: { signIn: boolean }) {
  if (signIn) return <SignIn />;
  return (
    <main class="expired">
      {token() === null ? (
        <>
          <h1>This tab has no token</h1>
          <p>Each tab needs the link with the token that the command printed which serves this page: open it in this tab. Or run that command again, it opens a page with a new one:</p>
        </>
      ) : (
        <>
          <h1>The token has expired</h1>
          <p>The server does not know the token of this page, or not any more. Run the command again that served it, with the same options; it opens a page with a new one:</p>
        </>
      )}
      <pre>
        <code>{'kubectl drydock dashboard\nkubectl drydock demo --dashboard'}</code>
      </pre>
    </main>
  );
}

/** A page that serves all users of a hub, without a proxy that signs them in. */
function SignIn() {
  const [given, set] = useState('');
  const submit = (event: Event) => {
    event.preventDefault();
    if (given.trim() === '') return;
    keepToken(given.trim());
    location.reload();
  };
  return (
    <main class="expired">
      <h1>Sign in</h1>
      {token() !== null && <p role="alert">The hub does not know this token, or not any more.</p>}
      <p>Give a bearer token of the hub: you see and do here what its owner may. It is kept until you close the tab.</p>
      <pre>
        <code>{'oc whoami --show-token\nkubectl create token NAME'}</code>
      </pre>
      <form onSubmit={submit}>
        <label class="field">
          Token
          <span class="pf-v6-c-form-control">
            <input type="password" autocomplete="off" required value={given} onInput={(event) => set(event.currentTarget.value)} />
          </span>
        </label>
        <Button kind="primary" submit>
          Sign in
        </Button>
      </form>
    </main>
  );
}
