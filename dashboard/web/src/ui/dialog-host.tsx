// Where dialogs are: not below the button that opens one, for what was done may take the button away while the dialog still says so.

import type { VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';

type Render = (close: () => void) => VNode;

let show: (render: Render | undefined) => void = () => {};

/** Opens a dialog; `render` is given what closes it. */
export function showDialog(render: Render): void {
  show(render);
}

export function DialogHost() {
  const [render, set] = useState<Render | undefined>();
  useEffect(() => {
    show = (next) => set(() => next);
    const close = () => set(undefined);
    // A question belongs to the page on which it was asked.
    addEventListener('hashchange', close);
    return () => removeEventListener('hashchange', close);
  }, []);
  return render ? render(() => set(undefined)) : null;
}
