// Small parts that all pages use.

import type { ComponentChildren } from 'preact';
import { docsOf, docsOfEvents } from '../words/docs';
import { own } from '../words/own';
import { printable } from '../words/text';

/** A text of a cluster: bounded, and isolated from the direction of the text around it. */
export function Text({ of, limit, className }: { of: string; limit?: number; className?: string }) {
  return (
    <bdi dir="auto" class={`untrusted ${className ?? ''}`}>
      {printable(of, limit)}
    </bdi>
  );
}

/** Says to who cannot see the page what has become different on it; what is there at first is read with the page. */
export function Announced({ text }: { text: string }) {
  return (
    <p class="visually-hidden" role="status">
      {text}
    </p>
  );
}

/** What is upgraded to. Of a long image both ends are shown: the last one tells it from another. */
export function Target({ of }: { of: string }) {
  return <Text of={of.length <= 90 ? of : `${of.slice(0, 40)}…${of.slice(-40)}`} />;
}

/** A long text of a cluster, cut, with a way to read more of it. */
export function LongText({ of }: { of: string }) {
  if (of.length <= 300) return <Text of={of} className={of.length > 40 ? 'message' : ''} />;
  return (
    <details class="long-text">
      <summary>
        <Text of={of} limit={200} />
      </summary>
      <Text of={of} limit={10_000} className="whole" />
    </details>
  );
}

export function ClusterLink({ name }: { name: string }) {
  return (
    <a class="cluster-name" href={`#/cluster/${encodeURIComponent(name)}`}>
      <Text of={name} limit={253} />
    </a>
  );
}

export function UpgradeLink({ of }: { of: string }) {
  return (
    <a href={`#/upgrade/${of.split('/').map(encodeURIComponent).join('/')}`}>
      <Text of={of} limit={127} />
    </a>
  );
}

/** Some names, and how many there are besides. */
export function Names({ names, total }: { names: string[]; total?: number }) {
  const shown = names.slice(0, 8);
  const rest = (total ?? names.length) - shown.length;
  return (
    <span class="names">
      {shown.map((name, i) => (
        <span key={name}>
          {i > 0 && ', '}
          <ClusterLink name={name} />
        </span>
      ))}
      {rest > 0 && `${shown.length > 0 ? ', ' : ''}and ${rest} more`}
    </span>
  );
}

/** A reason, with the page of the docs that explains it. */
export function Reason({ reason, event = false }: { reason: string; event?: boolean }) {
  const docs = event ? docsOfEvents() : docsOf(reason);
  const text = <Text of={reason} limit={63} />;
  if (!docs) return <span class="reason">{text}</span>;
  return (
    <a class="reason" href={docs} target="_blank" rel="noreferrer noopener">
      {text}
      <span class="visually-hidden"> (docs, new tab)</span>
    </a>
  );
}

type Color = 'blue' | 'green' | 'red' | 'orange' | 'grey' | 'purple' | 'teal' | 'yellow';

const LABEL_CLASS: Record<Color, string> = {
  blue: 'pf-m-blue',
  green: 'pf-m-green',
  red: 'pf-m-red',
  orange: 'pf-m-orange',
  grey: '',
  purple: 'pf-m-purple',
  teal: 'pf-m-teal',
  yellow: 'pf-m-yellow',
};

export function Label({ color, children }: { color: Color; children: ComponentChildren }) {
  return (
    <span class={`pf-v6-c-label pf-m-compact ${LABEL_CLASS[color]}`}>
      <span class="pf-v6-c-label__content">
        <span class="pf-v6-c-label__text">{children}</span>
      </span>
    </span>
  );
}

const STATE_COLOR: Record<string, Color> = {
  NotStarted: 'grey',
  PreAction: 'teal',
  Initialized: 'blue',
  PartialUpgrade: 'blue',
  Operators: 'purple',
  PostAction: 'teal',
  Complete: 'green',
  Failed: 'red',
};

export function StateLabel({ state }: { state: string }) {
  if (state === '') return <Label color="grey">no upgrade</Label>;
  return (
    <Label color={own(STATE_COLOR, state) ?? 'grey'}>
      <Text of={state} limit={40} />
    </Label>
  );
}

const LEVEL_COLOR: Record<string, Color> = { Critical: 'red', Error: 'red', Warning: 'orange', Unknown: 'yellow', Info: 'blue' };

export function LevelLabel({ level }: { level: string }) {
  return (
    <Label color={own(LEVEL_COLOR, level) ?? 'grey'}>
      <Text of={level} limit={40} />
    </Label>
  );
}

export function Button(props: {
  children: ComponentChildren;
  onClick?: () => void;
  kind?: 'primary' | 'secondary' | 'link' | 'danger';
  disabled?: boolean;
  small?: boolean;
  label?: string;
  pressed?: boolean;
  submit?: boolean;
}) {
  const kind = { primary: 'pf-m-primary', secondary: 'pf-m-secondary', link: 'pf-m-link', danger: 'pf-m-danger' }[props.kind ?? 'secondary'];
  return (
    <button
      type={props.submit ? 'submit' : 'button'}
      class={`pf-v6-c-button ${kind} ${props.small ? 'pf-m-small' : ''}`}
      disabled={props.disabled}
      aria-label={props.label}
      aria-pressed={props.pressed}
      onClick={props.onClick}
    >
      <span class="pf-v6-c-button__text">{props.children}</span>
    </button>
  );
}

export function Alert({ kind, title, children, live }: { kind: 'info' | 'warning' | 'danger' | 'success'; title: ComponentChildren; children?: ComponentChildren; live?: boolean }) {
  const variant = { info: 'pf-m-info', warning: 'pf-m-warning', danger: 'pf-m-danger', success: 'pf-m-success' }[kind];
  return (
    <div class={`pf-v6-c-alert pf-m-inline ${variant}`} role={live ? (kind === 'danger' ? 'alert' : 'status') : undefined}>
      <div class="pf-v6-c-alert__icon">
        <AlertIcon kind={kind} />
      </div>
      <p class="pf-v6-c-alert__title">
        <span class="visually-hidden">{kind === 'danger' ? 'Error' : kind}: </span>
        {title}
      </p>
      {children && <div class="pf-v6-c-alert__description">{children}</div>}
    </div>
  );
}

function AlertIcon({ kind }: { kind: string }) {
  return (
    <svg viewBox="0 0 16 16" width="16" height="16" fill="currentColor" aria-hidden="true">
      {kind === 'success' ? (
        <path d="M8 0a8 8 0 1 0 0 16A8 8 0 0 0 8 0Zm-1 11.6L3.4 8l1.2-1.2L7 9.2l4.4-4.4L12.6 6 7 11.6Z" />
      ) : kind === 'info' ? (
        <path d="M8 0a8 8 0 1 0 0 16A8 8 0 0 0 8 0Zm1 12H7V7h2v5Zm0-6.5H7v-2h2v2Z" />
      ) : (
        <path d="M8 .8 0 15h16L8 .8ZM9 13H7v-2h2v2Zm0-3.2H7V5.6h2v4.2Z" />
      )}
    </svg>
  );
}

export function Spinner({ label }: { label: string }) {
  return (
    <div class="loading" role="status">
      <svg class="pf-v6-c-spinner pf-m-md" viewBox="0 0 100 100" aria-hidden="true">
        <circle class="pf-v6-c-spinner__path" cx="50" cy="50" r="45" fill="none" />
      </svg>
      <span>{label}</span>
    </div>
  );
}

/** A part of a page with a heading. */
export function Section({ title, note, children, wide }: { title: string; note?: ComponentChildren; children: ComponentChildren; wide?: boolean }) {
  return (
    <section class={`section ${wide ? 'wide' : ''}`}>
      <h2>
        {title}
        {note !== undefined && <span class="note"> {note}</span>}
      </h2>
      {children}
    </section>
  );
}
