// Server-sent events out of a stream of bytes. The browser's EventSource cannot send the header with the token.

export interface ServerEvent {
  id: string;
  event: string;
  data: string;
}

/** Puts the pieces of a stream together; `push` gives the events that are complete with a piece. */
export class EventParser {
  private rest = '';
  private id = '';
  private event = '';
  private data: string[] = [];

  push(piece: string): ServerEvent[] {
    const found: ServerEvent[] = [];
    const text = this.rest + piece;
    let from = 0;
    for (;;) {
      const end = text.indexOf('\n', from);
      if (end < 0) break;
      const line = text.slice(from, text[end - 1] === '\r' && end > from ? end - 1 : end);
      from = end + 1;
      const event = this.line(line);
      if (event) found.push(event);
    }
    this.rest = text.slice(from);
    return found;
  }

  private line(line: string): ServerEvent | undefined {
    if (line === '') return this.dispatch();
    if (line.startsWith(':')) return undefined;
    const colon = line.indexOf(':');
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
    if (field === 'data') this.data.push(value);
    else if (field === 'event') this.event = value;
    else if (field === 'id') this.id = value;
    return undefined;
  }

  private dispatch(): ServerEvent | undefined {
    const { event, data } = this;
    this.event = '';
    this.data = [];
    if (data.length === 0) return undefined;
    return { id: this.id, event: event || 'message', data: data.join('\n') };
  }
}
