// Label selectors as Kubernetes has them: a=b, a==b, a!=b, a in (b,c), a notin (b,c), a, !a; joined by commas.

export type Labels = Map<string, string>;
type Requirement = (labels: Labels) => boolean;

/** The requirements of a selector; a text for the reader where it is not one. */
export function parseSelector(text: string): { matches: Requirement } | { error: string } {
  const requirements: Requirement[] = [];
  for (const part of parts(text)) {
    const requirement = parseRequirement(part);
    if (!requirement) return { error: `“${part.slice(0, 60)}” is not a label selector; write key=value, key!=value, key in (a,b), key or !key` };
    requirements.push(requirement);
  }
  return { matches: (labels) => requirements.every((requirement) => requirement(labels)) };
}

/** The parts between commas that are in no parentheses. */
function parts(text: string): string[] {
  const found: string[] = [];
  let depth = 0;
  let part = '';
  for (const letter of text) {
    if (letter === '(') depth++;
    if (letter === ')') depth--;
    if (letter === ',' && depth <= 0) {
      found.push(part);
      part = '';
    } else part += letter;
  }
  found.push(part);
  return found.map((one) => one.trim()).filter((one) => one !== '');
}

const KEY = '[A-Za-z0-9][A-Za-z0-9._/-]*';
const VALUE = '[A-Za-z0-9._-]*';
const EQUALITY = new RegExp(`^(${KEY})\\s*(==|=|!=)\\s*(${VALUE})$`);
const SET = new RegExp(`^(${KEY})\\s+(in|notin)\\s*\\(([^()]*)\\)$`);
const EXISTS = new RegExp(`^(!?)\\s*(${KEY})$`);

function parseRequirement(part: string): Requirement | undefined {
  const equality = EQUALITY.exec(part);
  if (equality) {
    const [, key = '', operator, value = ''] = equality;
    return operator === '!=' ? (labels) => labels.get(key) !== value : (labels) => labels.get(key) === value;
  }
  const set = SET.exec(part);
  if (set) {
    const [, key = '', operator, list = ''] = set;
    const values = new Set(list.split(',').map((value) => value.trim()));
    return (labels) => values.has(labels.get(key) as string) === (operator === 'in');
  }
  const exists = EXISTS.exec(part);
  if (!exists) return undefined;
  const [, not, key = ''] = exists;
  return (labels) => labels.has(key) === (not === '');
}

/** Labels as the server writes them: k=v,k2=v2. */
export function parseLabels(text: string): Labels {
  const labels: Labels = new Map();
  if (text === '') return labels;
  for (const pair of text.split(',')) {
    const at = pair.indexOf('=');
    if (at < 0) labels.set(pair, '');
    else labels.set(pair.slice(0, at), pair.slice(at + 1));
  }
  return labels;
}
