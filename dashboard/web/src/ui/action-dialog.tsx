// Asks before something is changed, says what it will do, and says what became of it.

import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { ApiError, type Done } from '../api/client';
import { Alert, Button, Text } from './parts';

export function ActionDialog(props: {
  title: string;
  action: string;
  danger?: boolean;
  disabled?: boolean;
  children: ComponentChildren;
  send: () => Promise<Done>;
  onClose: () => void;
  onDone?: (done: Done) => void;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  const [state, set] = useState<{ busy?: boolean; done?: string; error?: string; unknown?: boolean }>({});
  useEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    dialog.current?.showModal();
    return () => {
      if (before?.isConnected) before.focus();
      else document.querySelector('main')?.focus();
    };
  }, []);
  // The button that was pressed is disabled meanwhile, or gone: the focus would be nowhere.
  useEffect(() => {
    if (state.done !== undefined || state.error !== undefined) dialog.current?.querySelector<HTMLButtonElement>('footer button:not(:disabled)')?.focus();
  }, [state]);
  const submit = async (event: Event) => {
    event.preventDefault();
    if (state.busy || props.disabled) return;
    set({ busy: true });
    try {
      const answer = await props.send();
      set({ done: answer.done });
      props.onDone?.(answer);
    } catch (cause) {
      set({ error: cause instanceof ApiError ? refusal(cause) : 'the answer cannot be read', unknown: isUnknown(cause) });
    }
  };
  return (
    <dialog class="dialog" ref={dialog} aria-labelledby={id} onClose={props.onClose}>
      <form class="pf-v6-c-modal-box" onSubmit={submit}>
        <header class="pf-v6-c-modal-box__header">
          <h2 class="pf-v6-c-modal-box__title" id={id}>
            {props.title}
          </h2>
        </header>
        <div class="pf-v6-c-modal-box__body">
          {state.done === undefined && props.children}
          {state.error !== undefined && (
            <Alert kind="danger" live title={state.unknown ? 'It is not known whether it was done: look before you do it again.' : 'It was not done.'}>
              <Text of={state.error} limit={1000} />
            </Alert>
          )}
          {state.done !== undefined && <Alert kind="success" live title={<Text of={state.done} limit={1000} />} />}
        </div>
        <footer class="pf-v6-c-modal-box__footer">
          {state.done === undefined && (
            <Button submit kind={props.danger ? 'danger' : 'primary'} disabled={state.busy || props.disabled}>
              {state.busy ? 'One moment…' : props.action}
            </Button>
          )}
          <Button kind={state.done === undefined ? 'link' : 'primary'} onClick={() => dialog.current?.close()}>
            {state.done === undefined ? 'Cancel' : 'Close'}
          </Button>
        </footer>
      </form>
    </dialog>
  );
}

/** Whether what was asked for may have been done: no answer has come, or none of the server itself, and it had begun. */
export function isUnknown(cause: unknown): boolean {
  if (cause instanceof ApiError && cause.reason === 'NothingWritten') return false;
  return !(cause instanceof ApiError) || cause.status === 0 || cause.status >= 500;
}

function refusal(cause: ApiError): string {
  return cause.status === 403 ? `You may not do this: ${cause.message}` : cause.message;
}
