// A component that is loaded when it is first shown. (preact/compat has one too; it is larger than all of this page's own parts.)

import type { ComponentChildren, ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';

let placeholder: ComponentChildren = null;

export function lazy<P extends object>(load: () => Promise<{ default: ComponentType<P> }>): ComponentType<P> {
  let loaded: ComponentType<P> | undefined;
  return function Lazy(props: P) {
    const [Component, set] = useState<ComponentType<P> | undefined>(() => loaded);
    const [failed, fail] = useState(false);
    useEffect(() => {
      if (loaded) return;
      load().then(
        (module) => {
          loaded = module.default;
          set(() => module.default);
        },
        () => fail(true),
      );
    }, []);
    if (failed) return <p class="quiet">The chart cannot be loaded; what it shows is in the text.</p>;
    return Component ? <Component {...props} /> : <>{placeholder}</>;
  };
}

export function Suspense({ fallback, children }: { fallback: ComponentChildren; children: ComponentChildren }) {
  placeholder = fallback;
  return <>{children}</>;
}
