import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isObjectType } from 'graphql';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { checkAreas } from '../../src/core/check.ts';
import { knowledgeErrorCodes } from '../../src/core/errors.ts';
import { eventActions } from '../../src/core/events.ts';
import {
  contentFaultCodes,
  fetchFaultCodes,
  registryFaultCodes,
  warningCodes,
} from '../../src/core/finding.ts';
import { noticeTypes } from '../../src/core/notice.ts';
import { scopes } from '../../src/core/permissions.ts';
import { graphiqlTabs } from '../../src/http/graphiql-tabs.ts';
import { schema } from '../../schema/schema.ts';
import { caller } from '../support/database.ts';
import { projectRoot, startClone, type StartedClone } from '../support/docs/clone.ts';
import { commandNames } from '../support/docs/commands.ts';
import { brokenLinks, reachable } from '../support/docs/links.ts';
import { settingsIn, settingsOn, unknownCommands, unnamed } from '../support/docs/names.ts';
import { blocksOf } from '../support/docs/page.ts';
import { runPage } from '../support/docs/run-page.ts';

const long = process.env['AGENT_KNOWLEDGE_TEST_LONG'] === '1';

/** Everything a stranger reads, the README first. */
const docs = readdirSync(join(projectRoot, 'docs')).filter((name) => name.endsWith('.md'));
const pages = new Map(
  ['README.md', 'ARCHITECTURE.md', ...docs.map((name) => `docs/${name}`)].map((page) => [
    page,
    readFileSync(join(projectRoot, page), 'utf8'),
  ]),
);

/** The pages with commands that are run: all but those of which the page says, to us alone, why not. */
const tried = [...pages].flatMap(([page, text]) =>
  blocksOf(text).some(({ notRun }) => notRun === null) ? [page] : [],
);

const pageOf = (page: string): string => pages.get(page) ?? '';
/** Every variable, by the sources that read them. */
const allSettings = ['settings', 'graph-settings']
  .map((name) => settingsIn(readFileSync(join(projectRoot, `config/${name}.ts`), 'utf8')))
  .reduce((left, right) => left.union(right));
const isThere = (path: string): boolean => existsSync(join(projectRoot, path));

describe('the pages for strangers', () => {
  let clone: StartedClone;
  beforeAll(async () => {
    if (!long) clone = await startClone({ realNpx: false });
  });
  afterAll(() => clone?.[Symbol.asyncDispose]());

  test.each(tried)(
    'the commands of %s work as they are pasted, and print what it shows',
    async (page) => {
      // In the long form every page is somebody's first, and npx is npm's own.
      await using own = long ? await startClone({ realNpx: true }) : null;
      expect((await runPage(own ?? clone, page, pageOf(page))).join('\n\n')).toBe('');
    },
    180_000,
  );

  test('control: a broken command, an output that is not the one shown, and a promise of failure are caught', async () => {
    await using own = long ? await startClone({ realNpx: true }) : null;
    const faultsOf = (text: string) => runPage(own ?? clone, 'a.md', text);
    const echo = '```sh\necho one\necho two\n```\n';
    expect(await faultsOf(`${echo}\n\`\`\`text\none\n…\n\`\`\``)).toEqual([]);
    expect(await faultsOf(`${echo}\n\`\`\`text\ntwo\n\`\`\``)).toEqual([
      expect.stringContaining('a.md:2: it shows\ntwo'),
    ]);
    expect(await faultsOf('Text.\n\n```sh\nnpx agent-knowledge verisons\necho on\n```\n')).toEqual([
      expect.stringContaining('a.md:4: it ended with 64'),
    ]);
    expect(await faultsOf('```sh\nfalse && true\n```\n')).toHaveLength(1);
    expect(await faultsOf(`<!-- exits with 2 -->\n\n${echo}`)).toHaveLength(1);
    expect(await faultsOf('<!-- not run: it would fail -->\n\n```sh\nfalse\n```\n')).toEqual([]);
  }, 60_000);
});

test('every link leads somewhere, and every page is two clicks from the README', () => {
  expect(brokenLinks(pages, isThere)).toEqual([]);
  const far = [...pages.keys()].filter((page) => !reachable(pages, 'README.md', 2).has(page));
  expect(far).toEqual([]);
});

test('control: a link to nowhere, an anchor without a heading and a page out of reach are caught', () => {
  const made = new Map([
    ['README.md', '[one](docs/one.md) [gone](docs/gone.md)\n'],
    ['docs/one.md', '# One\n\n## Two `words` here\n\n[up](../README.md#nothing) [here](#two-words-here)\n'],
    ['docs/far.md', '# Far\n'],
  ]);
  expect(brokenLinks(made, () => false)).toEqual([
    'README.md: docs/gone.md (there is no such file)',
    'docs/one.md: ../README.md#nothing (there is no such heading)',
  ]);
  expect(reachable(made, 'README.md', 2).has('docs/far.md')).toBe(false);
});

describe('the pages are complete', () => {
  test('settings.md lists every setting and nothing else, and no page names one that is none', () => {
    const known = allSettings;
    expect(settingsOn(pageOf('docs/settings.md'))).toEqual(known);
    expect([...pages.values()].flatMap((text) => [...settingsOn(text).difference(known)])).toEqual([]);
  });

  test('every command is named in a page, and every one that a page names is there', () => {
    expect(unnamed(commandNames(), [...pages.values()])).toEqual([]);
    expect([...pages.values()].flatMap((text) => unknownCommands(text, commandNames()))).toEqual([]);
  });

  test.each([
    ['docs/graphql.md', 'error codes', knowledgeErrorCodes],
    ['docs/troubleshooting.md', 'error codes', knowledgeErrorCodes],
    ['docs/troubleshooting.md', 'reasons', [...registryFaultCodes, ...fetchFaultCodes, ...contentFaultCodes]],
    ['docs/registry.md', 'reasons of a refresh', [...fetchFaultCodes, ...contentFaultCodes]],
    ['docs/registry.md', 'warnings', warningCodes],
    ['docs/troubleshooting.md', 'states of a source', sourceStates()],
    ['docs/doctor.md', 'areas of doctor', checkAreas],
    ['docs/audit-log.md', 'actions', eventActions],
    ['docs/webhook.md', 'types of notices', noticeTypes],
    ['README.md', 'scopes', scopes],
    ['docs/administer-in-the-browser.md', 'tabs', tabNames()],
  ] as const)('%s has all %s', (page, _what, names) => {
    expect(names.length).toBeGreaterThan(0);
    expect(unnamed(names, [pageOf(page)])).toEqual([]);
  });

  test('control: an unlisted setting, one that is none, a misspelt command and a code that is left out are caught', () => {
    const known = allSettings;
    const page = pageOf('docs/settings.md');
    expect([...known.difference(settingsOn(page.replaceAll('AGENT_KNOWLEDGE_SWEEP_MS', '')))]).toEqual([
      'AGENT_KNOWLEDGE_SWEEP_MS',
    ]);
    expect([...settingsOn('`AGENT_KNOWLEDGE_SWEEP`').difference(known)]).toEqual(['AGENT_KNOWLEDGE_SWEEP']);
    expect(unknownCommands('npx agent-knowledge verisons', commandNames())).toEqual(['verisons']);
    expect(unnamed(['no_files', 'keys list'], ['`too_no_files`, `keys lists`'])).toEqual([
      'no_files',
      'keys list',
    ]);
  });
});

/** The words of `SourceStatus.state`, which its description lists. */
function sourceStates(): string[] {
  const type = schema.getType('SourceStatus');
  const description = isObjectType(type) ? type.getFields()['state']?.description : null;
  return [...(description ?? '').matchAll(/`([a-z_]+)`/g)].map(([, state = '']) => state);
}

/** What the tabs of GraphiQL are called: as their operations are. */
function tabNames(): string[] {
  return graphiqlTabs(caller(1, ['admin']), null).map(
    ({ query }) => /^(?:query|mutation|subscription) (\w+)/m.exec(query)?.[1] ?? '',
  );
}
