// The connection's way to the network.

import { api, request } from '../api/client';
import type { Transport } from './connection';

export const browserTransport: Transport = {
  snapshot: (signal) => api.snapshot(signal),
  async changes(since, signal) {
    const response = await request(`changes?since=${since}`, { signal, headers: { Accept: 'text/event-stream' } });
    if (!response.body) throw new Error('no stream');
    return pieces(response.body);
  },
  sleep: (milliseconds, signal) =>
    new Promise((resolve) => {
      const timer = setTimeout(resolve, milliseconds);
      signal.addEventListener('abort', () => {
        clearTimeout(timer);
        resolve();
      });
    }),
  random: Math.random,
  now: Date.now,
};

async function* pieces(body: ReadableStream<Uint8Array>): AsyncIterable<string> {
  const decoder = new TextDecoder();
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield decoder.decode(value, { stream: true });
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}
