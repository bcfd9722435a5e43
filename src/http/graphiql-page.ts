import { readFile } from 'node:fs/promises';
import type { IncomingHttpHeaders } from 'node:http';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { sha256 } from '../core/checksum.ts';
import type { BinaryAnswer } from './respond.ts';
import { hashOf } from './sign-in-pages.ts';

/** The document with GraphiQL, the same for everybody, made when somebody first asks for it. */
export interface GraphiqlPage {
  /** The answer to a request with these headers: the document, compressed as the browser likes, or that it has it. */
  answer(headers: IncomingHttpHeaders): Promise<BinaryAnswer>;
}

interface Prepared {
  readonly headers: Readonly<Record<string, string>>;
  readonly etag: string;
  readonly plain: Buffer;
  readonly brotli: Promise<Buffer>;
  readonly gzip: Promise<Buffer>;
}

/**
 * Nine megabytes that are compressed to less than two: once, beside the event loop, and kept. They are named by their
 * hash, so that a browser asks each time and is sent them once.
 */
export function createGraphiqlPage(): GraphiqlPage {
  let preparing: Promise<Prepared> | null = null;
  return {
    async answer({ 'accept-encoding': accepted = '', 'if-none-match': known = '' }) {
      preparing ??= prepare();
      const { headers, etag, ...bodies } = await preparing;
      if (known.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag))
        return { status: 304, headers, body: Buffer.alloc(0) };
      const encoding = chooseEncoding(accepted);
      const body = await bodies[encoding ?? 'plain'];
      const names = { brotli: 'br', gzip: 'gzip' } as const;
      return {
        status: 200,
        headers: { ...headers, ...(encoding === null ? {} : { 'content-encoding': names[encoding] }) },
        body,
      };
    },
  };
}

function chooseEncoding(accepted: string): 'brotli' | 'gzip' | null {
  const taken = accepted
    .split(',')
    .map((part) => part.trim().toLowerCase())
    .filter((part) => !/;\s*q=0(\.0*)?$/.test(part))
    .map((part) => part.split(';')[0]);
  if (taken.includes('br')) return 'brotli';
  return taken.includes('gzip') ? 'gzip' : null;
}

async function prepare(): Promise<Prepared> {
  const { html, script } = await buildDocument();
  const plain = Buffer.from(html);
  const etag = `"${sha256(plain)}"`;
  const brotliOptions = { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } };
  return {
    etag,
    plain,
    brotli: promisify(brotliCompress)(plain, brotliOptions),
    gzip: promisify(gzip)(plain),
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': policyFor(script),
      'cache-control': 'private, no-cache',
      vary: 'accept, accept-encoding, cookie',
      etag,
      'referrer-policy': 'no-referrer',
      'x-frame-options': 'DENY',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
    },
  };
}

/**
 * One script runs, the one with this hash; whatever else stands in the page, and whatever a file's content may be taken
 * for, does not (T50). Nothing is asked of any other server.
 */
function policyFor(script: string): string {
  return [
    "default-src 'none'",
    `script-src '${hashOf(script)}'`,
    'worker-src blob:',
    "style-src 'unsafe-inline'",
    'font-src data:',
    "img-src data: 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}

/** The whole document from GraphiQL's parts and ours, and the script in it. */
async function buildDocument(): Promise<{ readonly html: string; readonly script: string }> {
  const { css, editorWorkerService, graphqlWorker, js, jsonWorker } =
    await import('@graphql-yoga/render-graphiql/graphiql');
  const [template, ourCss, prelude, ...ours] = await Promise.all([
    readPart('page.html'),
    readPart('page.css'),
    readPart('workers.js'),
    ...['texts.js', 'stream.js', 'client.js'].map(readPart),
  ]);
  const workers = { editorWorkerService, json: jsonWorker, graphql: graphqlWorker };
  const script = [
    `self.MonacoWorkers = ${JSON.stringify(workers).replaceAll('<', String.raw`\u003c`)};`,
    prelude,
    js,
    ...ours,
  ].join('\n');
  const parts: Readonly<Record<string, string>> = {
    styles: `<style>${css}</style><style>${ourCss}</style>`,
    script: `<script>${script}</script>`,
  };
  const html = template.replaceAll(/<!-- (\w+) -->/g, (hole, name: string) => parts[name] ?? hole);
  return { html, script };
}

function readPart(name: string): Promise<string> {
  return readFile(new URL(`graphiql/${name}`, import.meta.url), 'utf8');
}
