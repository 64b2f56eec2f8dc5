// What is to be known of a text before it is applied: whose it is, and how old.

import { Alert, Button, Text } from '../ui/parts';
import { type Draft, isChanged } from './drafts';

interface Known {
  /** The upgrade that was opened is not there any more. */
  gone: boolean;
  /** Somebody has changed it since. */
  stale: boolean;
  /** The text was there before the page was opened. */
  kept: boolean;
  /** Why the upgrade cannot be read. */
  unread: string | undefined;
}

interface Props {
  upgrade: string;
  draft: Draft;
  is: Known;
  onRetry: () => void;
  onDiscard: () => void;
}

export function Notices({ upgrade, draft, is, onRetry, onDiscard }: Props) {
  if (is.stale) {
    return (
      <Alert kind="warning" live title={<>Somebody has changed <Text of={upgrade} limit={127} /> since this text was opened: it cannot be applied to it any more.</>}>
        Keep a copy of your change, and make it in the spec as it is now.{' '}
        <Button kind="link" small onClick={onDiscard}>Discard the text and take the spec as it is now</Button>
      </Alert>
    );
  }
  return (
    <>
      {is.gone && upgrade !== '' && (
        <Alert kind="warning" live title={<><Text of={upgrade} limit={127} /> is not there, or you may not see it.</>}>
          {isChanged(draft) && 'What you have written stays; it cannot be applied here.'}
        </Alert>
      )}
      {is.unread !== undefined && (
        <Alert kind="danger" title={<>The spec of <Text of={upgrade} limit={127} /> cannot be read.</>}>
          {is.unread} <Button kind="link" small onClick={onRetry}>Try again</Button>
        </Alert>
      )}
      {is.kept && isChanged(draft) && (
        <Alert kind="info" title="This is the text as you left it.">
          {saidOfKept(upgrade, draft)}{' '}
          <Button kind="link" small onClick={onDiscard}>{upgrade && !is.gone ? 'Discard it and take the spec as it is now' : 'Discard it'}</Button>
        </Alert>
      )}
    </>
  );
}

function saidOfKept(upgrade: string, draft: Draft): string {
  if (draft.sent !== undefined) return 'A text of it was sent to be applied, and no answer has come: see whether that was done before you apply it again.';
  if (upgrade !== '' && draft.edition === undefined) return 'It was written before the spec could be read, and cannot be applied here.';
  return 'It may differ from what is on the hub.';
}
