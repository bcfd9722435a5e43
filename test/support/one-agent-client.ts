import { expect } from 'vitest';
import { ask as askProbe } from './probe.ts';
import { eventually } from './processes.ts';

export interface Answer {
  readonly data: Record<string, unknown> | null;
  readonly code: string | null;
  readonly message: string;
}

/** Asks a product without a key; a refusal is an answer. */
export async function ask(url: string, query: string): Promise<Answer> {
  const { data, codes, messages } = await askProbe(url, query);
  return { data, code: codes[0] ?? null, message: messages[0] ?? '' };
}

export interface Refreshed {
  readonly state: string;
  readonly outcome: string | null;
  readonly version: { readonly knowledgeVersion: string; readonly checksum: string } | null;
}

/** What a writer was told: a version that must be there for ever, or a refusal. */
export type Told = Answer & { readonly refresh: Refreshed | null };

export async function refresh(url: string, waitSeconds = 30): Promise<Told> {
  const answer = await ask(
    url,
    `mutation { refresh(agentKey: "a", waitSeconds: ${waitSeconds}) { state outcome version { knowledgeVersion checksum } } }`,
  );
  return { ...answer, refresh: (answer.data?.['refresh'] ?? null) as Refreshed | null };
}

/** About 0.9 MB of words that nobody can compress away. */
export function newText(): string {
  const letters = 'abcdefghijklmnopqrstuvwxyz';
  let text = '# Rules\n\n';
  while (text.length < 900_000) {
    let word = '';
    for (let length = 3 + Math.random() * 5; length > 0; length -= 1)
      word += letters[Math.floor(Math.random() * 26)];
    text += Math.random() < 0.1 ? `${word}\n` : `${word} `;
  }
  return text;
}

/** Every version by number, as a reader sees them: dense, and with all that was acknowledged. */
export async function assertWhole(url: string, acknowledged: readonly Refreshed[]): Promise<number> {
  const query = '{ package(agentKey: "a") { versions(first: 200) { nodes { knowledgeVersion checksum } } } }';
  const { data } = await eventually(
    () => ask(url, query),
    (answer) => answer.code === null,
    60_000,
  );
  const { package: found } = data as {
    package: { versions: { nodes: { knowledgeVersion: string; checksum: string }[] } };
  };
  const versions = found.versions.nodes.toReversed();
  expect(versions.map((version) => version.knowledgeVersion)).toEqual(
    versions.map((_, index) => `v${index + 1}`),
  );
  for (const { version } of acknowledged) {
    if (version)
      expect(versions).toContainEqual({
        knowledgeVersion: version.knowledgeVersion,
        checksum: version.checksum,
      });
  }
  return versions.length;
}

export async function assertReads(url: string): Promise<void> {
  const query =
    '{ activeVersion(agentKey: "a") { knowledgeVersion files { relativePath sizeBytes content } } }';
  expect(await ask(url, query)).toMatchObject({ code: null });
}
