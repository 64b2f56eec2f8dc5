// Texts that repeat, each held once.

export class Words {
  private readonly index = new Map<string, number>([['', 0]]);
  readonly list: string[] = [''];

  /** The index of a text, which is added if it is new. */
  intern(text: string): number {
    const known = this.index.get(text);
    if (known !== undefined) return known;
    const added = this.list.length;
    this.list.push(text);
    this.index.set(text, added);
    return added;
  }

  /** The index of a text that is known, or -1. */
  find(text: string): number {
    return this.index.get(text) ?? -1;
  }

  get(index: number): string {
    return this.list[index] ?? '';
  }

  get size(): number {
    return this.list.length;
  }
}
