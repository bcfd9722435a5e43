import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';

/** A request that a receiver got, its signatures not yet looked at. */
export interface CaughtRequest {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** A notice whose signatures were found right. */
export interface CaughtNotice {
  readonly id: string;
  readonly type: string;
  readonly timestamp: string;
  // Tests know what they wait for; what came is checked by their expectations.
  readonly data: ReturnType<typeof JSON.parse>;
  readonly bytes: number;
}

/** How a receiver answers one request: a status, or whatever it does with the response itself. */
export type CatcherAnswer = number | ((response: ServerResponse, request: CaughtRequest) => void);

/** A secret of letters, taken as they are. */
export const catcherSecret = 'a secret of 30 letters or so';

/** A real HTTP server that keeps what it is sent, and answers 204 unless a test says otherwise. */
export class NoticeCatcher implements AsyncDisposable {
  readonly requests: CaughtRequest[] = [];
  /** How the next requests are answered; asked for each one anew. */
  answer: () => CatcherAnswer = () => 204;
  readonly #server = createServer((request, response) => void this.#take(request, response));
  /** Where it listens, and where another one may when it is closed. */
  port = 0;

  /** On this port, or on a free one. */
  static async open(port = 0): Promise<NoticeCatcher> {
    const catcher = new NoticeCatcher();
    await new Promise<void>((resolve, reject) => {
      catcher.#server.once('error', reject);
      catcher.#server.listen(port, '127.0.0.1', resolve);
    });
    catcher.port = (catcher.#server.address() as AddressInfo).port;
    return catcher;
  }

  /** Its address, whose path, query and credentials are nobody's business. */
  get url(): string {
    return `http://hook-user:hook-word@127.0.0.1:${this.port}/hidden-path?token=hidden-token`;
  }

  /** What came and was signed rightly, in the order of its coming; throws where a signature is wrong. */
  notices(secret = catcherSecret): CaughtNotice[] {
    return this.requests.map((request) => readNotice(request, secret));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = '';
    for await (const chunk of request.setEncoding('utf8')) text += chunk;
    const caught = { path: request.url ?? '', headers: request.headers, text };
    this.requests.push(caught);
    const answer = this.answer();
    if (typeof answer === 'number') response.writeHead(answer).end();
    else answer(response, caught);
  }
}

/** Reads a notice as a careful receiver does: by the library of Standard Webhooks, and by hand in both forms. */
export function readNotice({ headers, text }: CaughtRequest, secret: string): CaughtNotice {
  const named = Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, String(value)] as const),
  );
  const { type, timestamp, data } = new Webhook(secret, { format: 'raw' }).verify(
    text,
    named,
  ) as CaughtNotice;
  const id = named['webhook-id'] ?? '';
  const signed = createHmac('sha256', secret).update(`${id}.${named['webhook-timestamp']}.${text}`);
  assertSame(named['webhook-signature'], `v1,${signed.digest('base64')}`);
  const plain = createHmac('sha256', secret).update(text).digest('hex');
  assertSame(named['x-hub-signature-256'], `sha256=${plain}`);
  return { id, type, timestamp, data, bytes: Buffer.byteLength(text) };
}

function assertSame(found: string | undefined, expected: string): void {
  const [left, right] = [Buffer.from(found ?? ''), Buffer.from(expected)];
  if (left.length !== right.length || !timingSafeEqual(left, right))
    throw new Error(`Expected the signature ${expected}, found ${found}.`);
}
