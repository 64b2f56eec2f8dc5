// Words of an address, a server or a cluster may be those that every object has: `constructor`, `__proto__`.

/** What a record says of a word itself. */
export function own<V>(record: Readonly<Record<string, V>>, word: string): V | undefined {
  return Object.hasOwn(record, word) ? record[word] : undefined;
}
