import { createHash } from 'node:crypto';
import { KnowledgeError } from '../core/errors.ts';
import type { Exchange } from './exchange.ts';
import { respond } from './respond.ts';

/** A small page for a person: what is the matter, and what to do about it. All of it is text, nothing of it markup. */
export interface PlainPage {
  readonly status: number;
  readonly title: string;
  readonly text: readonly string[];
  /** A command to run, shown so that it can be copied. */
  readonly command?: string;
  /** A link to go on by. */
  readonly link?: { readonly href: string; readonly text: string };
  /** Loads itself again at once: as a navigation from our own page, with which a browser sends the cookie. */
  readonly reload?: true;
  readonly headers?: Readonly<Record<string, string>>;
}

const style = `
:root { color-scheme: light dark; }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; background: Canvas; color: CanvasText;
  font: 16px/1.55 system-ui, sans-serif; }
main { box-sizing: border-box; width: min(34rem, 100%); padding: 1.5rem; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 .75rem; }
p { margin: 0 0 .75rem; }
pre { margin: 1rem 0; padding: .75rem 1rem; border: 1px solid color-mix(in srgb, CanvasText 25%, Canvas); border-radius: .5rem;
  font: 15px/1.4 ui-monospace, monospace; white-space: pre-wrap; overflow-wrap: anywhere;
  background: color-mix(in srgb, CanvasText 6%, Canvas); user-select: all; }
small { opacity: .75; }
`;

/** Said with every page: it runs nothing, loads nothing, is framed by nobody, and its address goes nowhere (T31, T50). */
const pageHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': `default-src 'none'; style-src '${hashOf(style)}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  'referrer-policy': 'no-referrer',
  'x-frame-options': 'DENY',
} as const;

/** Sends a page. */
export function respondPage(exchange: Exchange, page: PlainPage): void {
  const { status, title, text, command, link, headers } = page;
  const body = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
${page.reload ? '<meta http-equiv="refresh" content="0">\n' : ''}<title>${escapeHtml(title)} · agent-knowledge</title>
<style>${style}</style></head>
<body><main><h1>${escapeHtml(title)}</h1>
${text.map((paragraph) => `<p>${escapeHtml(paragraph)}</p>`).join('\n')}
${command === undefined ? '' : `<pre>${escapeHtml(command)}</pre>`}
${link === undefined ? '' : `<p><a href="${escapeHtml(link.href)}">${escapeHtml(link.text)}</a></p>`}
<small>agent-knowledge</small></main></body></html>
`;
  respond(exchange, { status, headers: { ...pageHeaders, ...headers }, body });
}

/** The command that makes a link. */
const login = 'npx agent-knowledge login';

/** Whoever is not signed in. */
export const signInPage: PlainPage = {
  status: 401,
  title: 'Sign in',
  text: [
    'This page is for people who are signed in. Run this where the server runs, and open the link that it prints:',
  ],
  command: login,
  headers: { 'www-authenticate': 'Bearer' },
};

/** Whoever opens a link that does not sign in; which of the reasons it is, is not said. */
export const deadLinkPage: PlainPage = {
  status: 401,
  title: 'This link does not sign in',
  text: [
    'A sign-in link works once, for ten minutes. This one has been used, is too old, or was never made.',
    'Make a new one where the server runs, and open it in this browser:',
  ],
  command: login,
  headers: { 'www-authenticate': 'Bearer' },
};

export const signInNotNeededPage: PlainPage = {
  status: 200,
  title: 'No sign-in is needed',
  text: ['This server runs with AGENT_KNOWLEDGE_AUTH=off: on this machine everybody may do everything.'],
  link: { href: './graphql', text: 'Go on to GraphiQL' },
};

/** A browser that came by a link on another site did not send its cookie; from here it does. */
export const reloadPage: PlainPage = {
  status: 200,
  title: 'One moment',
  text: ['The page loads again by itself.'],
  reload: true,
};

/** Answers a person who has opened an address; that the database is away is told as a page too. */
export async function answerPerson(exchange: Exchange, answer: () => Promise<void>): Promise<void> {
  try {
    await answer();
  } catch (error) {
    if (!(error instanceof KnowledgeError) || error.code !== 'UNAVAILABLE') throw error;
    const text = [error.message, 'Load the page again in a moment.'];
    respondPage(exchange, { status: 503, title: 'Not now', text, headers: { 'retry-after': '1' } });
  }
}

function escapeHtml(text: string): string {
  const names: Readonly<Record<string, string>> = {
    '&': '&amp;',
    '<': '&lt;',
    '>': '&gt;',
    '"': '&quot;',
    "'": '&#39;',
  };
  return text.replaceAll(/[&<>"']/g, (character) => names[character] ?? character);
}

/** What a Content-Security-Policy calls an inline text. */
export function hashOf(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`;
}
