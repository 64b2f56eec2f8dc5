// Asks before something is changed, says what it will do, and says what became of it.

import type { ComponentChildren, RefObject } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { ApiError, type Done } from '../api/client';
import { NothingCanBeDone } from './banner';
import { showDialog } from './dialog-host';
import { Alert, Button, Text } from './parts';
import { useStatus } from './use-app';

interface Failure {
  why: string;
  /** Whether it may have been done nevertheless. */
  unknown: boolean;
}

const GONE = 'The upgrade is not there any more, or you may not see it any more.';

type State = { is: 'asked' } | { is: 'sent' } | { is: 'done'; said: string } | { is: 'failed'; failure: Failure };

export function ActionDialog(props: {
  title: string;
  action: string;
  danger?: boolean;
  disabled?: boolean;
  /** What it asks about is not there any more, or may not be seen: nothing of it is shown. */
  gone?: boolean;
  children: ComponentChildren;
  send: () => Promise<Done>;
  onClose: () => void;
  onDone?: (done: Done) => void;
}) {
  const app = useStatus();
  const dialog = useRef<HTMLDialogElement>(null);
  const [state, set] = useState<State>({ is: 'asked' });
  const live = app.connection.is === 'live';
  const sent = state.is === 'sent';
  const done = state.is === 'done';
  const gone = props.gone === true;
  const disabled = sent || !live || gone || props.disabled === true;
  // The button that was pressed is disabled meanwhile, or gone: the focus would be nowhere.
  useEffect(() => {
    if (state.is === 'done' || state.is === 'failed') focusButton(dialog.current);
  }, [state]);
  useEffect(() => {
    const { activeElement } = document;
    if ((!live || gone) && (activeElement === document.body || activeElement?.matches('dialog :disabled'))) focusButton(dialog.current);
  }, [live, gone]);
  const submit = async (event: Event) => {
    event.preventDefault();
    if (disabled) return;
    set({ is: 'sent' });
    try {
      const answer = await props.send();
      set({ is: 'done', said: answer.done });
      props.onDone?.(answer);
    } catch (cause) {
      const failure = { why: cause instanceof ApiError ? refusal(cause) : 'the answer cannot be read', unknown: isUnknown(cause) };
      if (dialog.current?.open) set({ is: 'failed', failure });
      // Who has closed it takes it for done.
      else showDialog((close) => <FailureDialog action={props.action} failure={failure} onClose={close} />);
    }
  };
  const buttons = (
    <>
      {!done && (
        <Button submit kind={props.danger ? 'danger' : 'primary'} disabled={disabled}>
          {sent ? 'One moment…' : props.action}
        </Button>
      )}
      <Button kind={done ? 'primary' : 'link'} onClick={() => dialog.current?.close()}>
        {done ? 'Close' : 'Cancel'}
      </Button>
    </>
  );
  return (
    <Modal dialog={dialog} title={props.title} buttons={buttons} onSubmit={submit} onClose={props.onClose}>
      {!done && !gone && props.children}
      {state.is === 'failed' && !gone && (
        <Alert kind="danger" live title={outcome(state.failure)}>
          <Text of={state.failure.why} limit={1000} />
        </Alert>
      )}
      {done && <Alert kind="success" live title={<Text of={state.said} limit={1000} />} />}
      {/* What was sent has its outcome, whatever comes of the connection. */}
      <div aria-live="polite">{!done && !sent && (gone ? <Alert kind="warning" title={GONE} /> : <NothingCanBeDone />)}</div>
    </Modal>
  );
}

/** What became of an action whose dialog was closed before the answer came. */
function FailureDialog({ action, failure, onClose }: { action: string; failure: Failure; onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const close = () => dialog.current?.close();
  return (
    <Modal dialog={dialog} role="alertdialog" title={`${action}: ${outcome(failure)}`} buttons={<Button kind="primary" onClick={close}>Close</Button>} onClose={onClose}>
      <p>
        <Text of={failure.why} limit={1000} />
      </p>
    </Modal>
  );
}

function Modal(props: {
  dialog: RefObject<HTMLDialogElement | null>;
  role?: 'alertdialog';
  title: string;
  children: ComponentChildren;
  buttons: ComponentChildren;
  onSubmit?: (event: Event) => void;
  onClose: () => void;
}) {
  const { dialog, role } = props;
  const id = useId();
  useEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    dialog.current?.showModal();
    return () => {
      if (before?.isConnected) before.focus();
      else document.querySelector('main')?.focus();
    };
  }, []);
  return (
    <dialog class="dialog" ref={dialog} role={role} aria-labelledby={id} aria-describedby={role && `${id}-text`} onClose={props.onClose}>
      <form class="pf-v6-c-modal-box" onSubmit={props.onSubmit}>
        <header class="pf-v6-c-modal-box__header">
          <h2 class="pf-v6-c-modal-box__title" id={id}>
            {props.title}
          </h2>
        </header>
        <div class="pf-v6-c-modal-box__body" id={`${id}-text`}>
          {props.children}
        </div>
        <footer class="pf-v6-c-modal-box__footer">{props.buttons}</footer>
      </form>
    </dialog>
  );
}

function focusButton(dialog: HTMLDialogElement | null): void {
  dialog?.querySelector<HTMLButtonElement>('footer button:not(:disabled)')?.focus();
}

function outcome({ unknown }: Failure): string {
  return unknown ? 'It is not known whether it was done: look before you do it again.' : 'It was not done.';
}

/** Whether what was asked for may have been done: no answer has come, or none of the server itself, and it had begun. */
export function isUnknown(cause: unknown): boolean {
  if (cause instanceof ApiError && cause.reason === 'NothingWritten') return false;
  return !(cause instanceof ApiError) || cause.status === 0 || cause.status >= 500;
}

function refusal(cause: ApiError): string {
  return cause.status === 403 ? `You may not do this: ${cause.message}` : cause.message;
}
