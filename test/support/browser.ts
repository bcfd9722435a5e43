import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { launch, type Browser, type BrowserContext, type Page } from 'puppeteer-core';

/** A real Chromium that reaches this machine alone. */
export interface TestBrowser extends AsyncDisposable {
  readonly browser: Browser;
  /** Every address beyond this machine that anything in the browser has asked for, threads of pages included. */
  readonly strayed: readonly string[];
  /** A person of his own: cookies and storage that no other one has. */
  newPerson(): Promise<BrowserContext>;
}

/**
 * Starts the Chromium that the suite brings along, or the one at `CHROME_PATH`, with a proxy before the rest of the world
 * that notes who wants to go there and lets nobody.
 */
export async function startBrowser(): Promise<TestBrowser> {
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'ak-browser-'));
  stack.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  const strayed: string[] = [];
  const proxy = stack.use(await startRefusingProxy(strayed));
  const browser = await launch({
    executablePath: await findChromium(folder),
    headless: 'shell',
    args: [...switches, `--proxy-server=http://127.0.0.1:${proxy.port}`],
    userDataDir: join(folder, 'profile'),
    env: { ...process.env, TMPDIR: folder, HOME: folder },
  });
  // It has nothing to keep, and takes its time to end in peace.
  stack.defer(async () => {
    const chromium = browser.process();
    if (chromium === null || chromium.exitCode !== null) return;
    chromium.kill('SIGKILL');
    await once(chromium, 'exit');
  });
  const opened = stack.move();
  return {
    browser,
    strayed,
    newPerson: () => browser.createBrowserContext(),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

/**
 * What a Chromium without a screen, often as root, needs to run at all. The switches that the packaged one proposes are
 * not taken over: some of them let a page do what no visitor's browser lets it do.
 */
const switches = ['--no-sandbox', '--disable-gpu', '--font-render-hinting=none', '--disable-dev-shm-usage'];

async function findChromium(folder: string): Promise<string> {
  const own = process.env['CHROME_PATH'];
  if (own !== undefined && own !== '') return own;
  const before = process.env['TMPDIR'];
  // It unpacks itself there, and takes what lies there already for its own.
  process.env['TMPDIR'] = folder;
  try {
    const { default: chromium } = await import('@sparticuz/chromium');
    return await chromium.executablePath();
  } finally {
    if (before === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = before;
  }
}

async function startRefusingProxy(strayed: string[]): Promise<AsyncDisposable & { readonly port: number }> {
  const server = createServer((request, response) => {
    strayed.push(request.url ?? '');
    response.writeHead(502).end();
  });
  server.on('connect', (request, socket) => {
    strayed.push(request.url ?? '');
    socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** What a page has done that somebody should hear of. */
export interface PageWatch {
  /** Errors, messages of errors, and violations of the page's own policy. */
  readonly errors: string[];
  /** Origins that were asked for something, by any frame. */
  readonly origins: Set<string>;
}

/** Notes what a page does from its next document on. */
export async function watchPage(page: Page): Promise<PageWatch> {
  const watch: PageWatch = { errors: [], origins: new Set() };
  page.on('console', (message) => {
    if (message.type() === 'error') watch.errors.push(`console: ${message.text()}`);
  });
  page.on('pageerror', (error) => watch.errors.push(`error: ${String(error)}`));
  page.on('dialog', (dialog) => {
    watch.errors.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('request', (request) => {
    const { protocol, origin } = new URL(request.url());
    if (protocol !== 'data:') watch.origins.add(origin);
  });
  await page.evaluateOnNewDocument(() => {
    document.addEventListener('securitypolicyviolation', (event) =>
      console.error(`policy: ${event.effectiveDirective} ${event.blockedURI}`),
    );
  });
  return watch;
}
