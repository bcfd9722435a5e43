import type { StreamedChange } from './history/stream-record.ts';

/** One event of a stream as its lines say it; a block of comments and ids alone has neither name nor data. */
export interface StreamEvent {
  readonly id: string | null;
  readonly event: string | null;
  // Tests know what they asked for.
  readonly data: ReturnType<typeof JSON.parse>;
}

export interface OpenStream extends AsyncDisposable {
  readonly response: Response;
  /** The next event with a name; throws when the stream ends before. */
  next(): Promise<StreamEvent>;
  /** The changes of the next `count` events. */
  take(count: number): Promise<StreamedChange[]>;
  /** Everything until the server ends the stream, signs of life left out. */
  rest(): Promise<StreamEvent[]>;
  /** The last id that was seen, as a browser keeps it. */
  readonly lastEventId: string | null;
}

export type { StreamedChange as Change };

export const packageChanged = `subscription ($agentKey: String, $environment: String, $afterSequence: Int) {
  packageChanged(agentKey: $agentKey, environment: $environment, afterSequence: $afterSequence) {
    kind agentKey environment knowledgeVersion checksum activated generation sequence at
  }
}`;

export interface StreamRequest {
  /** Where the server is, without `/graphql`. */
  readonly url: string;
  readonly key: string;
  readonly query?: string;
  readonly variables?: Record<string, unknown>;
  readonly headers?: Record<string, string>;
}

/** Opens a stream as any client of HTTP does, and reads its lines by the rules of server-sent events. */
export async function openStream(request: StreamRequest): Promise<OpenStream> {
  const { url, key, query = packageChanged, variables = {}, headers = {} } = request;
  const closing = new AbortController();
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: {
      accept: 'text/event-stream',
      'content-type': 'application/json',
      authorization: `Bearer ${key}`,
      ...headers,
    },
    body: JSON.stringify({ query, variables }),
    signal: closing.signal,
  });
  const blocks = blocksOf(response.body ?? [], true);
  let lastEventId: string | null = null;
  const read = async (): Promise<StreamEvent | null> => {
    for (;;) {
      const { done, value } = await blocks.next();
      if (done) return null;
      const event = parseBlock(value);
      lastEventId = event.id ?? lastEventId;
      if (event.event !== null) return event;
    }
  };
  const next = async () => {
    const event = await read();
    if (event === null) throw new Error('The stream ended.');
    return event;
  };
  return {
    response,
    next,
    async take(count) {
      const changes: StreamedChange[] = [];
      while (changes.length < count) changes.push(changeOf(await next()));
      return changes;
    },
    async rest() {
      const events: StreamEvent[] = [];
      for (let event = await read(); event !== null; event = await read()) events.push(event);
      return events;
    },
    get lastEventId() {
      return lastEventId;
    },
    async [Symbol.asyncDispose]() {
      closing.abort();
    },
  };
}

export function changeOf({ data }: StreamEvent): StreamedChange {
  const change = data?.data?.packageChanged as StreamedChange | undefined;
  if (!change) throw new Error(`Expected a change, found ${JSON.stringify(data)}.`);
  return change;
}

/** The events of a stream, comments and ids alone included; throws what cuts it off. */
export async function* readEvents(
  bytes: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): AsyncGenerator<StreamEvent, undefined> {
  for await (const block of blocksOf(bytes, false)) yield parseBlock(block);
  return undefined;
}

/** The texts between blank lines; `quietly`: a connection that is cut off ends them as any other end does. */
async function* blocksOf(
  bytes: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  quietly: boolean,
): AsyncGenerator<string, undefined> {
  let text = '';
  const decoder = new TextDecoder();
  try {
    for await (const chunk of bytes) {
      text += decoder.decode(chunk, { stream: true });
      const blocks = text.split('\n\n');
      text = blocks.pop() ?? '';
      yield* blocks;
    }
  } catch (error) {
    if (!quietly) throw error;
  }
  return undefined;
}

function parseBlock(block: string): StreamEvent {
  const fields = new Map<string, string>();
  for (const line of block.split('\n')) {
    const [, name = '', value = ''] = /^([^:]*):? ?(.*)$/s.exec(line) ?? [];
    if (name !== '') fields.set(name, fields.has(name) ? `${fields.get(name)}\n${value}` : value);
  }
  const data = fields.get('data');
  return {
    id: fields.get('id') ?? null,
    event: fields.get('event') ?? null,
    data: data ? JSON.parse(data) : null,
  };
}
