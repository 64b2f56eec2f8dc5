// What a manifest says of itself, as far as that can be read without the whole of YAML: mappings as blocks, one key a line, and JSON. The
// server reads it properly; where this cannot be sure, it says that it does not know.

export interface Manifest {
  name: string;
  /** Undefined if it names none. */
  namespace: string | undefined;
  /** The version, the image and the channel that it asks for, with a space between; empty if none. */
  target: string;
  /** It approves the upgrades of all operators. */
  allOperators: boolean;
  /** Undefined if it names none. */
  preChecks: string | undefined;
}

/** Texts by their paths. */
type Values = Map<string, string>;

const at = (...keys: string[]) => keys.join('\n');
/** The mappings that are looked into, and what is looked for. */
const READ = new Set([at('metadata'), at('spec'), at('spec', 'clusterVersion'), at('spec', 'preChecks'), at('spec', 'ocpOperators')]);
const OPERATORS = at('spec', 'ocpOperators', 'approveAllUpgrades');
const TARGET = ['version', 'image', 'channel'].map((field) => at('spec', 'clusterVersion', field));
const ASKED = [at('metadata', 'name'), at('metadata', 'namespace'), ...TARGET, at('spec', 'preChecks', 'mode'), OPERATORS];
const KEY = /^ *("[^"\\]*"|'[^']*'|[A-Za-z0-9_][\w./-]*) *:(?: +(.*))?$/;

/** Undefined if it cannot be read for sure, or has no name. */
export function readManifest(text: string): Manifest | undefined {
  const values = text.trimStart().startsWith('{') ? ofJson(text) : ofYaml(text);
  const name = values?.get(at('metadata', 'name'));
  if (!values || !name) return undefined;
  // YAML has more words for true: which of them the server knows, the page does not.
  const allOperators = (values.get(OPERATORS) ?? 'false').toLowerCase();
  if (allOperators !== 'true' && allOperators !== 'false') return undefined;
  return {
    name,
    namespace: values.get(at('metadata', 'namespace')),
    target: TARGET.flatMap((path) => values.get(path) || []).join(' '),
    allOperators: allOperators === 'true',
    preChecks: values.get(at('spec', 'preChecks', 'mode')),
  };
}

/** What follows from findings: Report where a spec does not say; undefined if it cannot be read. */
export function preChecksMode(spec: string): string | undefined {
  const found = readManifest(spec);
  return found && (found.preChecks ?? 'Report');
}

function ofJson(text: string): Values | undefined {
  try {
    const values: Values = new Map();
    collect(JSON.parse(text), [], values);
    return values;
  } catch {
    return undefined;
  }
}

function collect(value: unknown, path: string[], values: Values): void {
  if (typeof value === 'string' || typeof value === 'boolean') values.set(at(...path), String(value));
  else if (value !== null && typeof value === 'object' && !Array.isArray(value)) {
    for (const [key, of] of Object.entries(value)) collect(of, [...path, JSON.stringify(key).slice(1, -1)], values);
  }
}

function ofYaml(text: string): Values | undefined {
  const reader = new Reader();
  // Other signs break lines for some readers of YAML, and for others they do not.
  if (/\r(?!\n)|[\u0085\u2028\u2029]/.test(text)) return undefined;
  return text.split(/\r?\n/).every((line) => reader.line(line)) ? reader.values : undefined;
}

class Reader {
  readonly values: Values = new Map();
  private readonly seen = new Set<string>();
  private readonly above: { indent: number; key: string }[] = [];
  /** Lines that are indented deeper than this are one text. */
  private inText = Infinity;

  /** Takes a line; false if it cannot be read for sure. */
  line(line: string): boolean {
    if (/^\s*(#.*)?$/.test(line)) return true;
    const indent = line.search(/[^ ]/);
    if (indent > this.inText) return true;
    this.inText = Infinity;
    // A second document is none that the server takes.
    if (/^(---|\.\.\.)/.test(line)) return line.trim() === '---' && this.seen.size === 0;
    const rest = line.slice(indent);
    if (/^(\t|%|<<|[&*?!])/.test(rest)) return false;
    if (/^-( |$)/.test(rest)) return this.item(indent) && !goesOn(valueOf(rest));
    const [, key, value = ''] = KEY.exec(line) ?? [];
    // The rest of a plain text of several lines, in which nothing looks like a key: not where it is asked for.
    if (key === undefined) return (this.above.at(-1)?.indent ?? Infinity) < indent && !/^["']|:(\s|$)/.test(rest) && !this.isAsked();
    this.leave((one) => one.indent >= indent);
    return this.entry(indent, key.replace(/^["']|["']$/g, ''), value.trim());
  }

  /** An item of a list, which may stand below its key. What is in it is not asked for. */
  private item(indent: number): boolean {
    this.leave((one) => one.indent > indent || (one.indent === indent && one.key === '-'));
    if (this.above.length === 0) return false;
    this.above.push({ indent, key: '-' });
    return true;
  }

  private entry(indent: number, key: string, value: string): boolean {
    const keys = [...this.above.map((one) => one.key), key];
    const path = at(...keys);
    if (this.seen.has(path) && !keys.includes('-')) return false;
    this.seen.add(path);
    this.above.push({ indent, key });
    // Anchors, aliases and tags may be anything.
    if (/^[&*!@`%]/.test(value)) return false;
    if (/^[|>]/.test(value)) {
      this.inText = indent;
      return !ASKED.includes(path);
    }
    if (goesOn(value)) return false;
    const found = scalar(value);
    if (found !== undefined) {
      if (found !== '') this.values.set(path, found);
      return true;
    }
    return READ.has(path) ? this.flow(value) : !ASKED.includes(path);
  }

  /** A mapping in one line, without another in it: `{name: spring, namespace: default}`. */
  private flow(text: string): boolean {
    const inner = /^\{([^{}[\]"'&*!#]*)\}\s*(#.*)?$/.exec(text)?.[1];
    if (inner === undefined) return false;
    return inner.split(',').every((part) => {
      if (part.trim() === '') return true;
      const [, key, value] = /^\s*([\w.-]+):\s+(\S.*?)\s*$/.exec(part) ?? [];
      return key !== undefined && value !== undefined && this.entry(Infinity, key, value) && this.leave((one) => one.indent === Infinity);
    });
  }

  /** Whether the line above is, or holds, what is asked for. */
  private isAsked(): boolean {
    const path = at(...this.above.map((one) => one.key));
    return READ.has(path) || ASKED.includes(path);
  }

  private leave(isOver: (one: { indent: number; key: string }) => boolean): true {
    for (let last = this.above.at(-1); last && isOver(last); last = this.above.at(-1)) this.above.pop();
    return true;
  }
}

/** What stands in an item of a list: itself, or the value of its first key. */
function valueOf(item: string): string {
  const inner = item.replace(/^(-( +|$))+/, '');
  return KEY.exec(inner)?.[2] ?? inner;
}

/** Whether a text in quotes, or a list or mapping in brackets, ends on another line: what stands there is none of the keys. */
function goesOn(value: string): boolean {
  if (/^["']/.test(value)) return !/^("([^"\\]|\\.)*"|'([^']|'')*')\s*(#.*)?$/.test(value);
  if (!/^[[{]/.test(value)) return false;
  const bare = value.replace(/"([^"\\]|\\.)*"|'([^']|'')*'/g, '').replace(/\s#.*$/, '');
  const count = (signs: RegExp) => bare.match(signs)?.length ?? 0;
  return /["']/.test(bare) || count(/[[{]/g) !== count(/[\]}]/g);
}

/** A text of one line; undefined if it is none. */
function scalar(text: string): string | undefined {
  if (/^[[{]/.test(text)) return undefined;
  const single = /^'((?:[^']|'')*)'\s*(#.*)?$/.exec(text)?.[1];
  if (single !== undefined) return single.replaceAll("''", "'");
  if (/^["']/.test(text)) return /^"([^"\\]*)"\s*(#.*)?$/.exec(text)?.[1];
  const plain = text.replace(/(^|\s)#.*$/, '').trim();
  return /^(~|null)$/i.test(plain) ? '' : plain;
}
