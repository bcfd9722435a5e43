import { sha256 } from '../../../src/core/checksum.ts';
import { parseVersionName } from '../../../src/core/package.ts';
import type { CallArguments, Outcome, Request } from './record.ts';
import type { Recorder } from './recorder.ts';
import { refused } from './refusal.ts';

export interface HttpClientOptions {
  readonly recorder: Recorder;
  /** The name of its key, by which the log knows it. */
  readonly name: string;
  readonly key: string;
  /** The server's address, without a path: asked each time, since a server may come back elsewhere. */
  readonly url: () => string;
  /** Ends what is under way; its end is unknown then. */
  readonly signal: AbortSignal;
}

/** A file as its writer has just saved it. */
export interface SavedFile {
  readonly relativePath: string;
  readonly text: string;
}

const maxMs = 40_000;

/** A client of the GraphQL API that keeps its books: every call is recorded, however it ends. */
export class HttpClient {
  readonly #options: HttpClientOptions;

  constructor(options: HttpClientOptions) {
    this.#options = options;
  }

  get name(): string {
    return this.#options.name;
  }

  /** Asks for a refresh of what it has saved. Until it is answered nobody knows: the daemon sees the save by itself. */
  async refresh(agent: string, { relativePath, text }: SavedFile, key: string): Promise<Outcome> {
    const brings = { relativePath, checksum: sha256(text) };
    return this.#record(
      { operation: 'refresh', package: nameOf(agent), arguments: { brings, key } },
      async () => {
        const answer = await this.#ask(
          `mutation { refresh(agentKey: "${agent}", waitSeconds: 30, idempotencyKey: "${key}") {
          state outcome matchingVersion version { knowledgeVersion checksum } } }`,
        );
        if ('refusal' in answer) return { ...answer.refusal, end: 'unknown' };
        return refreshed(answer.data['refresh'] as RefreshAnswer);
      },
    );
  }

  async activate(
    agent: string,
    target: number,
    options: { readonly key: string; readonly expectedActive?: number; readonly hold?: boolean },
  ): Promise<Outcome> {
    const { key, expectedActive, hold } = options;
    const arguments_ = { target, key, ...(hold === undefined ? {} : { hold }) };
    return this.#record(
      { operation: 'activate', package: nameOf(agent), arguments: arguments_ },
      async () => {
        const expected = expectedActive === undefined ? '' : `expectedActive: "v${expectedActive}"`;
        const answer = await this.#ask(
          `mutation { activate(agentKey: "${agent}", knowledgeVersion: "v${target}", idempotencyKey: "${key}"
          ${expected} ${hold === undefined ? '' : `hold: ${hold}`}) { generation active { knowledgeVersion checksum } } }`,
        );
        if ('refusal' in answer) return answer.refusal;
        const { generation, active } = answer.data['activate'] as {
          generation: number;
          active: VersionAnswer;
        };
        return { end: 'ok', result: { seen: seenOf(generation, active) } };
      },
    );
  }

  hold(agent: string, options: { readonly key: string; readonly reason: string }): Promise<Outcome> {
    const { key, reason } = options;
    return this.#change('hold', agent, { key }, `reason: "${reason}"`);
  }

  release(
    agent: string,
    options: { readonly key: string; readonly activateNewest: boolean },
  ): Promise<Outcome> {
    const { key, activateNewest } = options;
    return this.#change('release', agent, { key, activateNewest }, `activateNewest: ${activateNewest}`);
  }

  /** Reads the pointer and every byte behind it. */
  async read(agent: string): Promise<Outcome> {
    return this.#record({ operation: 'read', package: nameOf(agent), arguments: {} }, async () => {
      const answer = await this.#ask(
        `{ activeVersion(agentKey: "${agent}") { generation knowledgeVersion checksum
          files { relativePath checksum content } } }`,
      );
      if ('refusal' in answer) return answer.refusal;
      const active = answer.data['activeVersion'] as VersionAnswer & {
        generation: number;
        files: FileAnswer[];
      };
      const files = active.files.map(({ relativePath, checksum, content }) => ({
        relativePath,
        checksum,
        contentChecksum: sha256(content),
      }));
      return { end: 'ok', result: { seen: seenOf(active.generation, active), files } };
    });
  }

  #change(
    operation: 'hold' | 'release',
    agent: string,
    arguments_: CallArguments & { readonly key: string },
    words: string,
  ): Promise<Outcome> {
    return this.#record({ operation, package: nameOf(agent), arguments: arguments_ }, async () => {
      const answer = await this.#ask(
        `mutation { ${operation}(agentKey: "${agent}", idempotencyKey: "${arguments_.key}", ${words}) { generation } }`,
      );
      return 'refusal' in answer ? answer.refusal : { end: 'ok', result: {} };
    });
  }

  #record(what: Omit<Request, 'process' | 'client'>, work: () => Promise<Outcome>): Promise<Outcome> {
    return this.#options.recorder.record({ process: 'api', client: this.name, ...what }, work);
  }

  async #ask(query: string): Promise<Asked> {
    const answer = await this.#post(query);
    if (answer instanceof Error) return { refusal: { end: 'unknown', result: { note: answer.message } } };
    const [error] = answer.errors ?? [];
    if (error === undefined && answer.data) return { data: answer.data };
    const { code = 'INTERNAL', current } = error?.extensions ?? {};
    const refusal = refused({
      code,
      message: error?.message ?? 'no data',
      ...(current === undefined ? {} : { current: current === null ? null : parseVersionName(current) }),
    });
    return { refusal };
  }

  /** An `Error` where the server could not be asked, or the answer was cut off. */
  async #post(query: string): Promise<Answer | Error> {
    const { url, key, signal } = this.#options;
    try {
      const response = await fetch(`${url()}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
        body: JSON.stringify({ query }),
        signal: AbortSignal.any([signal, AbortSignal.timeout(maxMs)]),
      });
      return (await response.json()) as Answer;
    } catch (error) {
      return error as Error;
    }
  }
}

/** The data, or how it ended without any. */
type Asked = { readonly data: Record<string, unknown> } | { readonly refusal: Outcome };

interface Answer {
  readonly data?: Record<string, unknown> | null;
  readonly errors?: readonly {
    message: string;
    extensions?: { code?: string; current?: string | null };
  }[];
}

interface VersionAnswer {
  readonly knowledgeVersion: string;
  readonly checksum: string;
}

interface FileAnswer {
  readonly relativePath: string;
  readonly checksum: string;
  readonly content: string;
}

interface RefreshAnswer {
  readonly state: string;
  readonly outcome: string | null;
  readonly matchingVersion: string | null;
  readonly version: VersionAnswer | null;
}

function refreshed({ state, outcome, matchingVersion, version }: RefreshAnswer): Outcome {
  if (state !== 'DONE') return { end: 'unknown', result: { note: state } };
  const name = version?.knowledgeVersion ?? matchingVersion;
  const number = name === null ? null : parseVersionName(name);
  const found = number === null ? {} : { version: { number, checksum: version?.checksum ?? null } };
  return { end: 'ok', result: { ...found, note: outcome ?? '' } };
}

function seenOf(generation: number, { knowledgeVersion, checksum }: VersionAnswer) {
  return { generation, active: parseVersionName(knowledgeVersion), checksum };
}

function nameOf(agent: string): string {
  return `${agent}/production`;
}
