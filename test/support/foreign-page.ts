import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { Page } from 'puppeteer-core';

/** A server of this machine that is not ours. */
export interface ForeignServer extends AsyncDisposable {
  readonly port: number;
  /** The same host as ours, another port: the same site to a browser, whose cookies it sends there. */
  readonly sameSite: string;
  /** Another host name, so another site. */
  readonly crossSite: string;
}

export async function startForeignServer(listener: RequestListener): Promise<ForeignServer> {
  const server = createServer(listener);
  server.listen(0);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    port,
    sameSite: `http://127.0.0.1:${port}`,
    crossSite: `http://localhost:${port}`,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** A page on which somebody else's script runs. */
export function foreignPage(body = ''): RequestListener {
  return (_request, response) => {
    response.setHeader('content-type', 'text/html; charset=utf-8');
    response.end(`<!doctype html><title>elsewhere</title><body>${body}</body>`);
  };
}

/**
 * What a server would be that takes the cookie for enough: hands every request of GraphQL on to ours as if our own
 * page had sent it. The control of the attempts below: here they must succeed.
 */
export function forgetfulDoor(target: { readonly url: string; readonly csrfToken: string }): RequestListener {
  const forward = async (request: IncomingMessage, response: ServerResponse) => {
    const headers = {
      cookie: request.headers.cookie ?? '',
      origin: target.url,
      'x-csrf-token': target.csrfToken,
      'content-type': 'application/json',
    };
    const body = request.method === 'POST' ? { body: await text(request) } : {};
    const init = { method: request.method ?? 'GET', headers, ...body };
    const answer = await fetch(`${target.url}${request.url ?? ''}`, init);
    response.setHeader('access-control-allow-origin', request.headers.origin ?? '*');
    response.setHeader('access-control-allow-credentials', 'true');
    response.writeHead(answer.status).end(await answer.text());
  };
  return (request, response) => {
    if (!request.url?.startsWith('/graphql')) response.writeHead(404).end();
    else forward(request, response).catch((error: unknown) => response.destroy(error as Error));
  };
}

/** What a foreign page has come to read, by the way it tried; empty where it read nothing. */
export type Spoils = Readonly<Record<string, string>>;

/**
 * Tries, from the page that is open, everything that a page may try at another origin with the cookies of its visitor:
 * to read with `query`, to change with `mutation`, to stream, to frame, to sign the visitor out.
 */
export function tryEverything(
  page: Page,
  aim: { readonly url: string; readonly query: string; readonly mutation: string },
): Promise<Spoils> {
  return page.evaluate(async ({ url, query, mutation }) => {
    const spoils: Record<string, string> = {};
    const soon = <T>(work: Promise<T>) =>
      Promise.race([work, new Promise<null>((resolve) => setTimeout(resolve, 1500, null))]);
    const read = async (name: string, path: string, init: RequestInit) => {
      const found = await soon(
        fetch(`${url}${path}`, { credentials: 'include', ...init }).then((answer) => answer.text()),
      ).catch(() => null);
      if (found) spoils[name] = found.slice(0, 200);
    };
    const loaded = (element: HTMLElement) =>
      soon(
        new Promise((resolve) => {
          element.addEventListener('load', resolve);
          element.addEventListener('error', resolve);
          document.body.append(element);
        }),
      );
    const asJson = (document: string) => JSON.stringify({ query: document });
    const asQuery = (document: string) => `/graphql?${new URLSearchParams({ query: document })}`;
    const json = { 'content-type': 'application/json' };

    await Promise.all([
      read('POST of JSON', '/graphql', { method: 'POST', headers: json, body: asJson(query) }),
      read('POST of text', '/graphql', { method: 'POST', body: asJson(query) }),
      read('GET', asQuery(query), {}),
      read('GET with our header', asQuery(query), { headers: { 'x-graphql-preflight': '1' } }),
      read('settings', '/graphiql/settings', { headers: { 'x-graphql-preflight': '1' } }),
      read('settings, bare', '/graphiql/settings', {}),
      read('page', '/graphql', { headers: { accept: 'text/html' } }),
      read('change by JSON', '/graphql', { method: 'POST', headers: json, body: asJson(mutation) }),
      ...['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data'].map((type) =>
        read(`change by ${type}`, '/graphql', {
          method: 'POST',
          mode: 'no-cors',
          headers: { 'content-type': type },
          body: asJson(mutation),
        }),
      ),
      read('change by GET', asQuery(mutation), { mode: 'no-cors' }),
      read('sign-out', '/sign-out', { method: 'POST', mode: 'no-cors' }),
      read('sign-out by GET', '/sign-out', { mode: 'no-cors' }),
    ]);
    navigator.sendBeacon(`${url}/graphql`, asJson(mutation));

    for (const [path, name, value] of [
      ['/graphql', asJson(mutation).slice(0, -1) + ',"x":"', '"}'],
      ['/graphql', 'query', mutation],
      ['/sign-out', 'x', 'x'],
    ] as const) {
      const frame = document.createElement('iframe');
      frame.name = `frame${Math.random()}`;
      document.body.append(frame);
      const form = document.createElement('form');
      Object.assign(form, {
        action: `${url}${path}`,
        method: 'POST',
        enctype: 'text/plain',
        target: frame.name,
      });
      const input = document.createElement('input');
      Object.assign(input, { name, value });
      form.append(input);
      document.body.append(form);
      form.submit();
    }

    const stream = new EventSource(`${url}${asQuery('subscription { packageChanged { kind } }')}`, {
      withCredentials: true,
    });
    stream.addEventListener('open', () => (spoils['stream'] = 'opened'));

    const frame = document.createElement('iframe');
    frame.src = `${url}/graphql`;
    await loaded(frame);
    try {
      const shown = frame.contentDocument?.body.textContent ?? '';
      if (shown !== '') spoils['frame'] = shown.slice(0, 200);
    } catch {
      // Another origin's document: nothing to read.
    }
    if (frame.contentWindow !== null && frame.contentWindow.length > 0) spoils['frame'] = 'has frames';

    const script = document.createElement('script');
    script.src = `${url}${asQuery(query)}`;
    await loaded(script);
    const image = document.createElement('img');
    image.src = `${url}${asQuery(query)}`;
    await loaded(image);
    await new Promise((resolve) => setTimeout(resolve, 300));
    stream.close();
    return spoils;
  }, aim);
}
