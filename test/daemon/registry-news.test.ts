import { expect, test } from 'vitest';
import { describeRegistry, tellRegistry } from '../../daemon/registry-news.ts';
import type { RegistryInForce } from '../../src/operations/accept-registry.ts';
import type { LiveDaemon } from '../../src/store/daemons.ts';
import { heartbeatOf } from '../support/fake-daemon.ts';
import { recordingLogger } from '../support/graphql.ts';
import { accepted, document } from '../support/registry-documents.ts';

const well: RegistryInForce = { registry: accepted(document()), faults: [], changed: false, disputedBy: [] };
const fault = {
  code: 'registry_bad_json',
  relativePath: null,
  line: null,
  message: 'It is no JSON.',
} as const;
const refused: RegistryInForce = { ...well, faults: Array.from({ length: 7 }, () => fault) };
const now = new Date();
const other: LiveDaemon = {
  ...heartbeatOf({ id: 'other', actorId: 1 }),
  id: 'other',
  host: 'elsewhere',
  processId: 7,
  startedAt: now,
  beatAt: now,
};
const disputed: RegistryInForce = { ...well, disputedBy: [other] };

/** What is logged as the registry goes through these states. */
function told(...states: readonly RegistryInForce[]): string[] {
  const logger = recordingLogger();
  let before: RegistryInForce | null = null;
  for (const state of states) {
    tellRegistry(logger, { path: '/etc/registry.json', before, now: state });
    before = state;
  }
  return logger.lines.map((line) => `${line.level}: ${line.message}`);
}

test('a good registry is no news, however often it is looked at', () => {
  expect(told(well, well, well)).toEqual([]);
});

test('a refusal is told once, with five faults and the number of the others, and so is its end', () => {
  const lines = told(well, refused, refused, well, well);
  expect(lines.slice(0, 5)).toEqual(
    Array.from({ length: 5 }, () => 'error: registry refused: It is no JSON.'),
  );
  expect(lines.slice(5)).toEqual([
    'error: 2 more faults; /etc/registry.json: the last good registry stays in force',
    'error: the registry is accepted again',
  ]);
});

test('two daemons with different registries are an alarm that names the other, once, and so is its end', () => {
  const [alarm, end, ...more] = told(well, disputed, disputed, well);
  expect(alarm).toMatch(/^error: another live daemon \(process 7 on elsewhere\) reads another registry/);
  expect(end).toBe('error: all live daemons read the same registry again');
  expect(more).toEqual([]);
});

test('a registry that has taken effect is described by its agents', () => {
  expect(describeRegistry(well)).toBe('a changed registry is in force: 1 agents, 1 enabled');
});
