import type { BrowserContext, Page } from 'puppeteer-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readPackage } from '../../src/operations/read-knowledge.ts';
import { startBrowser, watchPage, type PageWatch, type TestBrowser } from '../support/browser.ts';
import { startBrowserStage, type BrowserStage } from '../support/browser-stage.ts';
import { createTestDatabase } from '../support/database.ts';
import { foreignPage, forgetfulDoor, startForeignServer, tryEverything } from '../support/foreign-page.ts';
import { startTestServer } from '../support/http.ts';
import { loadVersion } from '../support/knowledge.ts';
import { driveGraphiql, type GraphiqlDriver } from '../support/graphiql-page.ts';
import { hostileFiles } from '../support/hostile-texts.ts';
import { eventually } from '../support/processes.ts';
import { useLink } from '../support/sign-in.ts';

/*
 * What somebody meets who has never seen GraphQL: `start`, its link, a real Chromium. The tests follow one another, as
 * the person does.
 */

const isLong = process.env['AGENT_KNOWLEDGE_TEST_LONG'] === '1';
/** What a page of another origin is after. */
const query = '{ activeVersion(agentKey: "triage") { knowledgeVersion } }';
const mutation = 'mutation { activate(agentKey: "triage", knowledgeVersion: "v1") { generation } }';

const stack = new AsyncDisposableStack();
let product: BrowserStage;
let url: string;
let chromium: TestBrowser;
let anna: { page: Page; watch: PageWatch; graphiql: GraphiqlDriver };

beforeAll(async () => {
  const browser = startBrowser();
  product = stack.use(await startBrowserStage());
  ({ url } = product);
  chromium = stack.use(await browser);
}, 180_000);
afterAll(() => stack.disposeAsync());

async function newPage(person: BrowserContext): Promise<{ page: Page; watch: PageWatch }> {
  const page = await person.newPage();
  await page.setViewport({ width: 1280, height: 800 });
  return { page, watch: await watchPage(page) };
}

describe('somebody who has never seen GraphQL', () => {
  test('signs in by the link of the banner, and is told who he is and until when', async () => {
    const person = await chromium.newPerson();
    const { page, watch } = await newPage(person);
    const response = await page.goto(product.link);
    expect([response?.status(), page.url()]).toEqual([200, `${url}/graphql`]);
    anna = { page, watch, graphiql: await driveGraphiql(page) };
    expect(await page.title()).toBe('agent-knowledge');
    expect(await page.$eval('#who', (bar) => bar.textContent)).toMatch(/ · may do everything · until \d/);
  }, 90_000);

  test('reads, refreshes, rolls back, lets go and compares by one button', async () => {
    const { graphiql } = anna;
    expect(await graphiql.tabs()).toEqual([
      'WhatMyAgentGets',
      'History',
      'Refresh',
      'RollBack',
      'LetGo',
      'CompareVersions',
      'WatchChanges',
    ]);
    const run = async (tab: string, pattern: RegExp) => {
      await graphiql.openTab(tab);
      await graphiql.play();
      return graphiql.result(pattern);
    };
    expect(await graphiql.variables()).toContain('"agentKey": "triage"');
    expect(await run('WhatMyAgentGets', /"content"/)).toContain('Be kind and brief.');
    expect(await graphiql.readTexts()).toBe('rules.md# Rules\n\nBe kind and brief.\n');
    expect(await run('History', /"totalCount"/)).toContain('"totalCount": 2');
    expect(await run('Refresh', /"outcome"/)).toContain('"outcome": "UNCHANGED"');
    expect(await run('RollBack', /"hold"/)).toContain('"reason": "Agents answer wrongly since');
    expect(await product.activeOf('triage')).toBe('v1');
    expect(await run('LetGo', /"hold"/)).toContain('"hold": null');
    expect(await product.activeOf('triage')).toBe('v2');
    expect(await run('CompareVersions', /"unified"/)).toContain('"relativePath": "rules.md"');
    expect(await graphiql.readTexts()).toContain('-Be kind.\n+Be kind and brief.\n');
  }, 90_000);

  test('sees changes that are made elsewhere as they happen, until he stops', async () => {
    const { graphiql } = anna;
    await graphiql.openTab('WatchChanges');
    await graphiql.play();
    await graphiql.result(/"waiting"/);
    // What happens before the server listens is not news to it, so the change is made again until it is seen.
    await eventually(
      async () => {
        await product.activate('v1');
        await product.activate('v2');
        return graphiql.result(/"ACTIVATED"[^]*"earlier"/);
      },
      (text) => text.includes('"knowledgeVersion": "v2"'),
      60_000,
    );
    await graphiql.play();
  }, 90_000);

  test('finds in the docs what every field means', async () => {
    const { page } = anna;
    await page.click('.graphiql-sidebar button');
    const open = async (name: string) => {
      await page.waitForSelector('.graphiql-doc-explorer');
      await eventually(
        () =>
          page.$$eval(
            '.graphiql-doc-explorer a',
            (links, wanted) => {
              const link = links.find(({ textContent }) => textContent === wanted);
              (link as HTMLElement | undefined)?.click();
              return link !== undefined;
            },
            name,
          ),
        (found) => found,
      );
    };
    await open('Query');
    await open('activeVersion');
    const text = await page.$eval('.graphiql-doc-explorer', (docs) => docs.textContent ?? '');
    expect(text).toContain('What a runtime gives its agent now.');
    expect(text).toContain('Needs the scope knowledge:read.');
    await page.click('.graphiql-sidebar button');
  }, 60_000);

  test('is shown texts that are taken for no more than text (T50)', async () => {
    const { graphiql, page } = anna;
    expect(Object.keys(hostileFiles).length).toBeGreaterThanOrEqual(10);
    await graphiql.openTab('WhatMyAgentGets');
    await graphiql.setVariables({ agentKey: 'unruly' });
    await graphiql.play();
    const shown = await graphiql.result(/h00\.md/);
    const texts = await graphiql.readTexts();
    for (const text of Object.values(hostileFiles)) expect(texts).toContain(text);
    expect(shown).toContain('onerror');
    await graphiql.openTab('RollBack');
    const reason = Object.values(hostileFiles).join(' ').slice(0, 400);
    await graphiql.setVariables({ agentKey: 'unruly', knowledgeVersion: 'v1', reason });
    await graphiql.play();
    await graphiql.result(/"unruly"|onerror/);
    expect(await page.evaluate(() => (globalThis as { hacked?: number }).hacked)).toBeUndefined();
    expect(page.url()).toBe(`${url}/graphql`);
  }, 60_000);

  test('has been sent to no other origin, and has met no error and no violation of the page’s policy', () => {
    expect(anna.watch.errors).toEqual([]);
    expect([...anna.watch.origins]).toEqual([url]);
    expect(chromium.strayed).toEqual([]);
  });
});

describe('the machinery of these tests (control)', () => {
  test('hears of a script without a hash, of a request elsewhere, and of a text that is taken for markup', async () => {
    await using guarded = await startForeignServer((request, response) => {
      response.setHeader('content-security-policy', `default-src 'self'; script-src 'sha256-AAAA'`);
      foreignPage('<script>globalThis.hacked = 1</script>')(request, response);
    });
    // Some of them would lead away from the page, or hide what stands behind them in a comment.
    const texts = Object.values(hostileFiles).filter((text) => !/<!--|<base|http-equiv/.test(text));
    await using open = await startForeignServer(foreignPage(texts.join('\n')));
    const person = await chromium.newPerson();
    const strict = await newPage(person);
    await strict.page.goto(guarded.sameSite);
    expect(strict.watch.errors.join('\n')).toMatch(/policy: script-src-elem inline/);

    const lax = await newPage(person);
    await lax.page.goto(open.sameSite, { waitUntil: 'domcontentloaded' });
    await lax.page.waitForFunction(() => ((globalThis as { hacked?: number }).hacked ?? 0) > 3);
    expect([...lax.watch.origins]).toContain('http://hostile.test');
    expect(chromium.strayed.join('\n')).toContain('http://hostile.test/');
  }, 60_000);
});

describe('a page of another origin in the browser of somebody who is signed in', () => {
  let visitor: { person: BrowserContext; cookie: string; csrfToken: string };
  beforeAll(async () => {
    const signedIn = await useLink((await product.login('--name', 'Dora')).url);
    const person = await chromium.newPerson();
    const [name = '', value = ''] = signedIn.cookie.split('=');
    const bounds = { domain: '127.0.0.1', path: '/', httpOnly: true, secure: false } as const;
    await person.setCookie({ name, value, ...bounds, sameSite: 'Strict', expires: -1 });
    visitor = { person, ...signedIn };
  }, 60_000);

  test.each(['sameSite', 'crossSite'] as const)(
    'reads and changes nothing: %s (T3, R12)',
    async (site) => {
      await using foreign = await startForeignServer(foreignPage());
      const { page } = await newPage(visitor.person);
      await page.goto(foreign[site]);
      expect(await tryEverything(page, { url, query, mutation })).toEqual({});
      expect(await product.activeOf('triage')).toBe('v2');
      // Nobody was signed out either.
      const settings = { cookie: visitor.cookie, 'x-graphql-preflight': '1' };
      expect((await fetch(`${url}/graphiql/settings`, { headers: settings })).status).toBe(200);
    },
    60_000,
  );

  test('would do both where the cookie were enough (control)', async () => {
    await using door = await startForeignServer(forgetfulDoor({ url, csrfToken: visitor.csrfToken }));
    await using foreign = await startForeignServer(foreignPage());
    const { page } = await newPage(visitor.person);
    // A browser keeps the cookie back from another site; that alone would stop half of it.
    await page.goto(foreign.crossSite);
    await tryEverything(page, { url: door.sameSite, query, mutation });
    expect(await product.activeOf('triage')).toBe('v2');

    await page.goto(foreign.sameSite);
    const spoils = await tryEverything(page, { url: door.sameSite, query, mutation });
    expect(spoils['GET']).toContain('"knowledgeVersion"');
    expect(await product.activeOf('triage')).toBe('v1');
  }, 60_000);
});

describe('a session', () => {
  test('is any page’s of the browser, and one that has ended says so, and how to come back', async () => {
    const rights = ['--name', 'Ben', '--scope', 'knowledge:read'];
    const [first, second] = await Promise.all([product.login(...rights), product.login(...rights)]);
    const person = await chromium.newPerson();
    const { page } = await newPage(person);
    await page.goto(first.url);
    await driveGraphiql(page);
    await page.reload();
    const graphiql = await driveGraphiql(page);
    expect(await page.$eval('#who', (bar) => bar.textContent)).toMatch(/^Ben · may read · until /);
    expect(await graphiql.tabs()).toEqual(['WhatMyAgentGets', 'History', 'CompareVersions', 'WatchChanges']);
    // As in another window: the page that is open goes on with the newer sign-in.
    await page.evaluate((other) => fetch(other).then(({ status }) => status), second.url);
    await graphiql.play();
    await graphiql.result(/"content"/);

    expect((await product.run('keys', 'revoke', second.sessionId)).code).toBe(0);
    await graphiql.play();
    await page.waitForSelector('#ended[open]');
    const words = await page.$eval('#ended', (dialog) => dialog.textContent ?? '');
    expect(words).toContain('Your sign-in has ended');
    expect(words).toContain('npx agent-knowledge login');
    // Nothing is left to read or to come upon, whatever is pressed.
    for (const key of ['Escape', 'Escape'] as const) await page.keyboard.press(key);
    await page.waitForSelector('#ended[open]');
    expect(await page.$eval('#graphiql', (main) => main.textContent)).toBe('');
    expect(await page.evaluate(() => sessionStorage.length)).toBe(0);
  }, 60_000);

  test('begins also by a link that was clicked on another site, and ends by signing out', async () => {
    const { url: another } = await product.login('--name', 'Cleo');
    await using elsewhere = await startForeignServer(foreignPage(`<a id="go" href="${another}">Sign in</a>`));
    const person = await chromium.newPerson();
    const { page } = await newPage(person);
    await page.goto(elsewhere.crossSite);
    await page.click('#go');
    const graphiql = await driveGraphiql(page);
    expect(page.url()).toBe(`${url}/graphql`);
    await graphiql.play();
    await graphiql.result(/"content"/);

    // Clicked again, the link leads to the page: this browser is signed in.
    await page.goto(elsewhere.crossSite);
    await page.click('#go');
    await driveGraphiql(page);

    await page.click('#sign-out');
    await page.waitForSelector('#ended[open]');
    expect((await page.goto(`${url}/graphql`))?.status()).toBe(401);
    expect((await page.goto(another))?.status()).toBe(401);
    expect(await page.$eval('body', (body) => body.textContent)).toContain('npx agent-knowledge login');
  }, 90_000);

  test('leaves no code, cookie or token in what the product writes', async () => {
    const code = new URL(product.link).searchParams.get('code') ?? '';
    const { stdout, stderr } = product.written();
    expect(stderr).not.toContain(code);
    expect(stdout.split(code)).toHaveLength(2);
    const cookies = await anna.page.browserContext().cookies();
    expect(cookies).toHaveLength(1);
    for (const { value } of cookies) expect(stdout + stderr).not.toContain(value);
  });
});

if (isLong)
  describe('a server that asks for no sign-in', () => {
    test('is used by its own page and by no other one (T52, R12)', async () => {
      await using database = await createTestDatabase();
      await loadVersion(database, { agentKey: 'triage', files: { 'a.md': 'one' } });
      await loadVersion(database, { agentKey: 'triage', files: { 'a.md': 'two' } });
      const { caller } = database.context();
      await using server = await startTestServer(database, { auth: { off: caller } });
      const person = await chromium.newPerson();
      const { page } = await newPage(person);
      await page.goto(`${server.url}/graphql`);
      const graphiql = await driveGraphiql(page);
      expect(await page.$eval('#who', (bar) => bar.textContent)).toContain('No sign-in needed');
      await graphiql.play();
      await graphiql.result(/"knowledgeVersion": "v2"/);

      await using foreign = await startForeignServer(foreignPage());
      for (const origin of [foreign.sameSite, foreign.crossSite]) {
        await page.goto(origin);
        expect(await tryEverything(page, { url: server.url, query, mutation })).toEqual({});
      }
      const { activeNumber } = await readPackage(database.context(), 'triage');
      expect(activeNumber).toBe(2);
    }, 60_000);
  });
