import { sha256 } from '../../../src/core/checksum.ts';
import { KnowledgeError } from '../../../src/core/errors.ts';
import { parseVersionName, versionName } from '../../../src/core/package.ts';
import { activateVersion } from '../../../src/operations/activate-version.ts';
import type { CallContext } from '../../../src/operations/context.ts';
import { holdPackage, releasePackage } from '../../../src/operations/hold-package.ts';
import {
  readActiveVersion,
  readContents,
  readManifests,
  readNamedVersions,
  readPackageOf,
} from '../../../src/operations/read-knowledge.ts';
import { addActor } from '../../../src/store/actors.ts';
import type { PackageName } from '../../../src/store/job-queue.ts';
import { caller, type TestDatabase } from '../database.ts';
import type { TestAgent } from '../looks.ts';
import type { CallArguments, CallResult, Operation, Outcome } from './record.ts';
import type { Recorder } from './recorder.ts';
import { refused } from './refusal.ts';

/** A client that calls the operations in this process, as an actor of its own, and keeps its books. */
export class OperationClient {
  readonly name: string;
  readonly #context: CallContext;
  readonly #recorder: Recorder;

  private constructor(name: string, context: CallContext, recorder: Recorder) {
    this.name = name;
    this.#context = context;
    this.#recorder = recorder;
  }

  static async open(database: TestDatabase, recorder: Recorder, name: string): Promise<OperationClient> {
    const actorId = await database.database.transaction((queries) => addActor(queries, 'key', name));
    return new OperationClient(name, database.context({ caller: caller(actorId, ['admin']) }), recorder);
  }

  /** A look that finds this text in the agent's first file, which nobody else ever holds there. */
  refresh(agent: TestAgent, text: string): Promise<Outcome> {
    const brings = { relativePath: 'core.md', checksum: sha256(text) };
    return this.#record('refresh', agent.name, { brings }, async () => {
      const { outcome, loadedNumber, matchingNumber } = await agent.refresh(text);
      const number = loadedNumber ?? matchingNumber;
      return { note: outcome, ...(number === null ? {} : { version: { number, checksum: null } }) };
    });
  }

  activate(
    { name }: TestAgent,
    target: number,
    options: { readonly expectedActive?: number; readonly hold?: boolean; readonly key?: string } = {},
  ): Promise<Outcome> {
    const { expectedActive, hold, key } = options;
    const arguments_ = {
      target,
      ...(hold === undefined ? {} : { hold }),
      ...(key === undefined ? {} : { key }),
    };
    return this.#record('activate', name, arguments_, async () => {
      await activateVersion(this.#context, {
        ...name,
        knowledgeVersion: versionName(target),
        expectedActive: expectedActive === undefined ? null : versionName(expectedActive),
        hold,
        idempotencyKey: key,
        reason: hold === true ? 'Held by a test.' : null,
      });
      return { seen: await this.#pointerOf(name) };
    });
  }

  hold({ name }: TestAgent, reason: string): Promise<Outcome> {
    return this.#record('hold', name, {}, async () => {
      await holdPackage(this.#context, { ...name, reason });
      return {};
    });
  }

  release({ name }: TestAgent, activateNewest = false): Promise<Outcome> {
    return this.#record('release', name, { activateNewest }, async () => {
      await releasePackage(this.#context, { ...name, activateNewest });
      return {};
    });
  }

  /** Reads the pointer and every byte behind it. */
  read({ name }: TestAgent): Promise<Outcome> {
    return this.#record('read', name, {}, async () => {
      const version = await readActiveVersion(this.#context, name);
      const manifest = await readManifests(this.#context, [version.id]);
      const contents = await readContents(
        this.#context,
        manifest.map((file) => file.checksum),
      );
      const files = manifest.map(({ relativePath, checksum }) => {
        const content = contents.get(checksum);
        return { relativePath, checksum, contentChecksum: content === undefined ? null : sha256(content) };
      });
      const { generation, number: active, checksum } = version;
      return { seen: { generation, active, checksum }, files };
    });
  }

  async #pointerOf(name: PackageName): Promise<NonNullable<CallResult['seen']>> {
    const { generation, activeNumber } = await readPackageOf(this.#context, name);
    if (activeNumber === null) return { generation, active: null, checksum: null };
    const [active] = await readNamedVersions(this.#context, [{ ...name, number: activeNumber }]);
    return { generation, active: activeNumber, checksum: active?.checksum ?? null };
  }

  #record(
    operation: Operation,
    { agentKey, environment }: PackageName,
    arguments_: CallArguments,
    work: () => Promise<CallResult>,
  ): Promise<Outcome> {
    const request = {
      process: 'here',
      client: this.name,
      operation,
      package: `${agentKey}/${environment}`,
      arguments: arguments_,
    };
    return this.#recorder.record(request, async () => {
      try {
        return { end: 'ok', result: await work() };
      } catch (error) {
        if (!(error instanceof KnowledgeError)) throw error;
        const { code, message, details } = error;
        const current = details['current'] as string | null | undefined;
        return refused({
          code,
          message,
          ...(current === undefined ? {} : { current: current === null ? null : parseVersionName(current) }),
        });
      }
    });
  }
}
