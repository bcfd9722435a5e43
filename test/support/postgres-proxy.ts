import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

interface Line {
  /** What the client calls itself in its first packet; null before that. */
  name: string | null;
  readonly client: Socket;
  readonly server: Socket;
}

/**
 * Stands between a client and PostgreSQL, tells connections apart by the name they give, and makes some of them deaf: what
 * is sent either way is no longer passed on, and neither side is told (F22). New ones of that name are deaf as well.
 */
export class PostgresProxy implements AsyncDisposable {
  /** The database's address with the proxy in its place. */
  readonly url: string;
  readonly #listening: Server;
  readonly #target: URL;
  readonly #lines = new Set<Line>();
  #isDeaf: (name: string) => boolean = () => false;
  #refuses = false;
  #attempts = 0;

  private constructor(listening: Server, target: URL) {
    this.#listening = listening;
    this.#target = target;
    const url = new URL(target);
    url.port = String((listening.address() as AddressInfo).port);
    this.url = url.href;
    listening.on('connection', (client: Socket) => this.#take(client));
  }

  static async open(url: string): Promise<PostgresProxy> {
    const listening = createServer().listen(0, '127.0.0.1');
    await once(listening, 'listening');
    return new PostgresProxy(listening, new URL(url));
  }

  /** How many connections were tried so far, refused ones included. */
  get attempts(): number {
    return this.#attempts;
  }

  /** The names of the connections that are open now. */
  get names(): string[] {
    return [...this.#lines].flatMap(({ name }) => (name === null ? [] : [name]));
  }

  /** From now on nothing passes on connections of such a name. */
  deafen(isDeaf: (name: string) => boolean): void {
    this.#isDeaf = isDeaf;
    for (const line of this.#lines) this.#listen(line);
  }

  /** What was held back passes on, as when a cable is plugged in again. */
  heal(): void {
    this.#refuses = false;
    this.deafen(() => false);
  }

  /** Every connection that is open now goes dead without a word; those to come are heard (a failover, a firewall that forgot). */
  silence(): void {
    for (const { client, server } of this.#lines) for (const socket of [client, server]) socket.pause();
  }

  /** Cuts every connection of such a name off. */
  cut(isCut: (name: string) => boolean = () => true): void {
    for (const line of this.#lines) if (isCut(line.name ?? '')) close(line);
  }

  /** Cuts everything off and lets nobody in until it is healed. */
  refuse(): void {
    this.#refuses = true;
    this.cut();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cut();
    this.#listening.close();
    await once(this.#listening, 'close');
  }

  #take(client: Socket): void {
    this.#attempts += 1;
    if (this.#refuses) {
      client.destroy();
      return;
    }
    const server = connect({ host: this.#target.hostname, port: Number(this.#target.port) });
    const line: Line = { name: null, client, server };
    this.#lines.add(line);
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      from.on('error', () => undefined); // Its end follows, which ends the other side.
      from.on('close', () => {
        this.#lines.delete(line);
        to.destroy();
      });
    }
    client.once('data', (first: Buffer) => {
      line.name = nameIn(first);
      client.on('data', (chunk: Buffer) => server.write(chunk));
      server.on('data', (chunk: Buffer) => client.write(chunk));
      server.write(first);
      this.#listen(line);
    });
  }

  /** Hears a line or does not, as it is now. */
  #listen({ name, client, server }: Line): void {
    const isDeaf = name !== null && this.#isDeaf(name);
    for (const socket of [client, server]) {
      if (isDeaf) socket.pause();
      else socket.resume();
    }
  }
}

function close({ client, server }: Line): void {
  client.destroy();
  server.destroy();
}

/** The startup packet is a length, a version and pairs of strings that end with a zero byte. */
function nameIn(packet: Buffer): string {
  const words = packet.subarray(8).toString('utf8').split('\0');
  const at = words.indexOf('application_name');
  return at < 0 ? '' : (words[at + 1] ?? '');
}
