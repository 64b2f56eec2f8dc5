// Where dialogs are: not below the button that opens one, for what was done may take the button away while the dialog still says so.

import { Fragment, type VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';

type Render = (close: () => void) => VNode;

interface Shown {
  id: number;
  render: Render;
}

let show: (render: Render) => void = () => {};
let opened = 0;

/** Opens a dialog, above those that are open; `render` is given what closes it. */
export function showDialog(render: Render): void {
  show(render);
}

export function DialogHost() {
  const [shown, set] = useState<Shown[]>([]);
  useEffect(() => {
    show = (render) => {
      const id = ++opened;
      set((before) => [...before, { id, render }]);
    };
    const close = () => set([]);
    // A question belongs to the page on which it was asked.
    addEventListener('hashchange', close);
    return () => removeEventListener('hashchange', close);
  }, []);
  return shown.map(({ id, render }) => <Fragment key={id}>{render(() => set((before) => before.filter((one) => one.id !== id)))}</Fragment>);
}
