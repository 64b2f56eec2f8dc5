// What is gone, and what is not current. Nobody must take an old picture for the present.

import { moment } from '../words/time';
import { Alert, Button, Text } from './parts';
import { type Loaded, useApp } from './use-app';

/** In place of what is not there, or may not be seen (any more). */
export function Gone({ what, loaded }: { what: string; loaded: Loaded<unknown> }) {
  const { clock } = useApp();
  const { at, error, refusal } = loaded;
  return (
    <Alert kind="danger" live title={at === undefined ? `The ${what} cannot be shown.` : refusal === 403 ? `You may not see this ${what} any more.` : `This ${what} is not there any more, or you may not see it any more.`}>
      {at !== undefined && `It was last read at ${moment(at, clock.now())}. The server says: `}
      <Text of={error ?? ''} limit={1000} />{' '}
      <Button kind="link" small onClick={loaded.reload}>Try again</Button>
    </Alert>
  );
}

/** Above what is older than it should be; `why` if it is not the last request that says so. */
export function NotCurrent({ loaded, why }: { loaded: Loaded<unknown>; why?: string }) {
  const { clock } = useApp();
  const { at, error } = loaded;
  return (
    <Alert kind="warning" live title={`What is below is not current${at === undefined ? '' : `: it was read at ${moment(at, clock.now())}`}.`}>
      <Text of={error ?? why ?? ''} limit={1000} />{' '}
      <Button kind="link" small onClick={loaded.reload}>Try again</Button>
    </Alert>
  );
}
