import type { ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import { GraphError } from '../../../src/source/graph/graph-error.ts';
import { canary, openHasty, sendJson, standIn } from '../../support/graph-stand-in.ts';

const fails = async (asked: Promise<unknown>): Promise<GraphError> => {
  const error = await asked.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof GraphError)) throw new Error('No GraphError came.', { cause: error });
  const whole = `${error.message} ${String(error.stack)} ${JSON.stringify(error)} ${String(error.cause)}`;
  expect(whole, 'bug 27: no secret in an error').not.toContain(canary);
  return error;
};

describe('calls', () => {
  it('send a page link to the letter, with token, decorated name and id (D17, bug 16, T5)', async () => {
    await using server = await standIn((_, response) => sendJson(response, { value: [] }));
    const { graph } = openHasty(server.url);
    const path = `/v1.0/drives('b!x')/root/microsoft.graph.delta(token='a|b%2f')?$skip='q'&x={1}`;
    await graph.call({ target: server.url.replace('127.0.0.1', 'localhost') + path });
    await graph.call({ method: 'POST', target: '/subscriptions', body: { a: 1 } });
    expect(server.seen.map(({ url }) => url)).toEqual([path, '/v1.0/subscriptions']);
    expect(server.seen[0]?.headers).toMatchObject({
      authorization: `Bearer ${canary}`,
      'user-agent': 'NONISV|AgentKnowledge|agent-knowledge/0',
    });
    expect(server.seen[0]?.headers['client-request-id']).not.toBe(
      server.seen[1]?.headers['client-request-id'],
    );
    expect(server.seen[1]?.body).toBe('{"a":1}');
    expect(graph.usage).toEqual({ requests: 2, downloads: 0, units: 2 });
  });

  it('never follow a link that leads elsewhere (T6, F66)', async () => {
    await using server = await standIn((_, response) => sendJson(response, {}));
    await using other = await standIn((_, response) => sendJson(response, {}));
    const { graph } = openHasty(server.url);
    const path = '/v1.0/x?token=' + canary;
    const links = [
      other.url + path,
      server.url.replace('//', '//user@') + path,
      `${server.url}/other?${canary}`,
      `${server.url}/v1.0/../secret?${canary}`,
      server.url.replace('http:', 'https:') + path,
      `http://graph.microsoft.com${path}`,
      'file:///etc/passwd',
      'no link',
    ];
    for (const target of links)
      expect((await fails(graph.call({ target }))).trouble, target).toBe('untrusted');
    expect([...server.seen, ...other.seen]).toEqual([]);
    await graph.call({ target: server.url + path }); // The control: the same link to the right place.
    expect(server.seen).toHaveLength(1);
  });

  it('wait the whole of Retry-After and never less, all of them (T1, T4, F62, bug 30)', async () => {
    for (const [told, expected] of [
      ['7', 7000],
      ['1.5', 1500],
      [new Date(Date.UTC(2026, 0, 1, 0, 0, 9)).toUTCString(), 9000],
      ['99999999', 900_000],
    ] as const) {
      await using server = await standIn((_, response, count) =>
        count === 0 ? sendJson(response, {}, 429, { 'retry-after': told }) : sendJson(response, {}),
      );
      const { graph, sleeps } = openHasty(server.url);
      await graph.call({ target: '/me' });
      const waited = sleeps.reduce((sum, ms) => sum + ms, 0);
      expect(waited, told).toBeGreaterThanOrEqual(expected);
      expect(waited, told).toBeLessThanOrEqual(expected + 10_100);
    }
  });

  it('shut one door for everybody while it is told to wait, and tell until when (T1)', async () => {
    await using server = await standIn((_, response, count) =>
      count === 0 ? sendJson(response, {}, 503, { 'retry-after': '20' }) : sendJson(response, {}),
    );
    let open = (): void => undefined;
    const opened = new Promise<void>((resolve) => (open = resolve));
    let nowMs = 0;
    const sleep = async (ms: number): Promise<void> => {
      await opened;
      nowMs = Math.max(nowMs, ms);
    };
    const { graph } = openHasty(server.url, { habits: { now: () => nowMs, sleep } });
    const first = graph.call({ target: '/a' });
    while (graph.waitsUntil === null) await new Promise((resolve) => setTimeout(resolve, 5));
    const others = [graph.call({ target: '/b' }), graph.download('/c', 10), graph.batch([{ path: '/d' }])];
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(server.seen).toHaveLength(1);
    expect(graph.waitsUntil.getTime()).toBeGreaterThanOrEqual(20_000);
    open();
    await first;
    await Promise.allSettled(others.slice(0, 2));
    expect(server.seen.length).toBeGreaterThan(2);
    await graph[Symbol.asyncDispose]();
    await Promise.allSettled(others);
  });

  it('end as throttled after a bounded number of waits, and count anew for each (F62, bug 31)', async () => {
    await using server = await standIn((_, response) =>
      sendJson(response, {}, 429, { 'retry-after': 'soon' }),
    );
    const { graph } = openHasty(server.url);
    expect((await fails(graph.call({ target: '/me' }))).trouble).toBe('throttled');
    expect(server.seen).toHaveLength(4);
    await fails(graph.call({ target: '/me' }));
    expect(server.seen).toHaveLength(8);
  });

  it('try again what passes: 5xx, empty, cut, html, silent, broken (T6, T11, bug 34)', async () => {
    const faults: ((response: ServerResponse) => void)[] = [
      (response) => sendJson(response, {}, 500),
      (response) => sendJson(response, {}, 504),
      (response) => response.end(''),
      (response) => response.end('{"value": ['),
      (response) => response.end('<html>'),
      (response) => response.end('"text"'),
      (response) => response.destroy(),
      () => undefined,
      (response) => response.writeHead(200, { 'content-length': '50' }).write('{}', () => response.destroy()),
    ];
    for (const [index, fault] of faults.entries()) {
      await using server = await standIn((_, response, count) =>
        count === 0 ? fault(response) : sendJson(response, { ok: true }),
      );
      const { graph, sleeps } = openHasty(server.url);
      expect((await graph.call({ target: '/me' })).body, String(index)).toEqual({ ok: true });
      expect([server.seen.length, sleeps.length], String(index)).toEqual([2, 1]);
    }
  });

  it('give up after four tries, with every code and the id (T7, bug 31)', async () => {
    const error = {
      code: 'generalException',
      message: canary,
      innererror: { code: 'inner', innerError: { code: 'deep' } },
    };
    await using server = await standIn((_, response) =>
      sendJson(response, { error }, 500, { 'request-id': 'r-1' }),
    );
    const { graph } = openHasty(server.url);
    const thrown = await fails(graph.call({ target: `/shares/u!${canary}/driveItem?x=${canary}` }));
    expect(thrown).toMatchObject({ trouble: 'unavailable', status: 500, requestId: 'r-1' });
    expect(thrown.codes).toEqual(['generalException', 'inner', 'deep']);
    expect(server.seen).toHaveLength(4);
  });

  it('say at once what does not pass (C14, T9)', async () => {
    const kinds = {
      400: 'refused',
      403: 'forbidden',
      404: 'missing',
      409: 'refused',
      410: 'gone',
      412: 'refused',
      423: 'locked',
    };
    for (const [status, trouble] of Object.entries(kinds)) {
      await using server = await standIn((_, response) => sendJson(response, {}, Number(status)));
      const { graph } = openHasty(server.url);
      expect((await fails(graph.call({ target: '/me' }))).trouble).toBe(trouble);
      expect(server.seen).toHaveLength(1);
    }
  });

  it('do not follow a redirect with the token', async () => {
    await using other = await standIn((_, response) => sendJson(response, {}));
    await using server = await standIn((_, response) => {
      response.writeHead(302, { location: `${other.url}/${canary}` }).end();
    });
    const { graph } = openHasty(server.url);
    expect((await fails(graph.call({ target: '/me' }))).trouble).toBe('untrusted');
    expect(other.seen).toEqual([]);
  });

  it('end a slow drip and a body without end (F68)', async () => {
    await using drip = await standIn((_, response) => {
      const timer = setInterval(() => response.write(' '), 50);
      response.on('close', () => clearInterval(timer));
    });
    const slow = openHasty(drip.url, { habits: { tries: 1 } });
    expect((await fails(slow.graph.call({ target: '/me' }))).trouble).toBe('unavailable');
    await using flood = await standIn((_, response) => {
      const chunk = Buffer.alloc(65_536, 32);
      const pour = (): void => {
        while (!response.destroyed && response.write(chunk));
      };
      response.on('drain', pour);
      pour();
    });
    expect((await fails(openHasty(flood.url).graph.call({ target: '/me' }))).trouble).toBe('protocol');
    const got = await openHasty(flood.url).graph.download('/x', 1000);
    expect([got.bytes.length, got.whole]).toEqual([1001, false]);
  });

  it('say in plain words that a ready token cannot be renewed (T8, F67)', async () => {
    await using server = await standIn((_, response) => sendJson(response, {}, 401));
    const { graph } = openHasty(server.url);
    expect((await fails(graph.call({ target: '/me' }))).trouble).toBe('credentials');
    expect(server.seen).toHaveLength(1);
    expect((await fails(graph.batch([{ path: '/me' }]))).trouble).toBe('credentials');
  });

  it('all end when it is closed, and later ones at once', async () => {
    await using server = await standIn(() => undefined);
    const { graph } = openHasty(server.url);
    const asked = fails(graph.call({ target: '/me' }));
    while (server.seen.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    await graph[Symbol.asyncDispose]();
    expect((await asked).trouble).toBe('closed');
    expect((await fails(graph.download('/me', 1))).trouble).toBe('closed');
    expect(server.seen).toHaveLength(1);
  });
});

describe('batches', () => {
  it.each([400, 404, 405, 501])(
    'that are refused as a whole (%d) are asked step by step (B1)',
    async (status) => {
      await using server = await standIn(({ url }, response) => {
        if (url === '/v1.0/$batch') return sendJson(response, { error: { code: 'BadRequest' } }, status);
        if (url === '/v1.0/2') return sendJson(response, { error: { code: 'itemNotFound' } }, 404);
        sendJson(response, { url });
      });
      const { graph } = openHasty(server.url);
      const batches = () => server.seen.filter(({ url }) => url === '/v1.0/$batch').length;
      const answers = await graph.batch(Array.from({ length: 25 }, (_, index) => ({ path: `/${index}` })));
      expect(answers.map(({ status }) => status)).toEqual(
        Array.from({ length: 25 }, (_, index) => (index === 2 ? 404 : 200)),
      );
      expect(answers[7]?.body).toEqual({ url: '/v1.0/7' });
      expect(answers[2]?.body).toMatchObject({ error: { code: 'itemNotFound' } });
      // One that takes none is not asked for the next one; where it was this one alone, it is.
      const before = batches();
      await graph.batch([{ path: '/0' }]);
      expect(batches() - before).toBe(status === 400 ? 1 : 0);
    },
  );

  it('are cut at 20, matched by id, and retried step by step (B1)', async () => {
    const asked: Record<string, number> = {};
    await using server = await standIn(({ body }, response) => {
      const { requests } = JSON.parse(body) as { requests: { id: string; url: string }[] };
      expect(requests.length).toBeLessThanOrEqual(20);
      const responses = requests.map(({ id, url }) => {
        const count = (asked[url] = (asked[url] ?? 0) + 1);
        if (url === '/3' && count === 1) return { id, status: 429, headers: { 'Retry-After': '4' } };
        if (url === '/4' && count === 1) return null; // Not answered at all.
        if (url === '/5') return { id, status: 404, body: { error: { code: 'itemNotFound' } } };
        if (url === '/6') return { id, status: 500, body: {} };
        return { id, status: 200, headers: { 'request-id': `r${url}` }, body: { url } };
      });
      sendJson(response, { responses: responses.filter((one) => one !== null).toReversed() });
    });
    const { graph, sleeps } = openHasty(server.url);
    const answers = await graph.batch(Array.from({ length: 45 }, (_, index) => ({ path: `/${index}` })));
    expect(answers).toHaveLength(45);
    for (const [index, { status, body }] of answers.entries()) {
      if (index === 5) expect(status).toBe(404);
      else if (index === 6) expect(status).toBe(500);
      else expect(body).toEqual({ url: `/${index}` });
    }
    expect([asked['/0'], asked['/3'], asked['/4'], asked['/5'], asked['/6']]).toEqual([1, 2, 2, 1, 4]);
    expect(sleeps.reduce((sum, ms) => sum + ms, 0)).toBeGreaterThanOrEqual(4000);
  });
});

describe('downloads', () => {
  const redirect = (response: ServerResponse, location: string): void => {
    response.writeHead(302, { location }).end();
  };

  it('come as raw bytes from another origin that never sees the token (C4, C5, bug 25)', async () => {
    const bytes = Buffer.from([0xef, 0xbb, 0xbf, 0, 13, 10, 0xff]);
    await using content = await standIn((_, response) => {
      response.writeHead(200, { 'content-type': 'text/plain' }).end(bytes);
    });
    await using server = await standIn((_, response) =>
      redirect(response, `${content.url}/f?tempauth=${canary}`),
    );
    const { graph } = openHasty(server.url);
    const got = await graph.download('/drives/d/items/i/content', 7);
    expect([Buffer.from(got.bytes), got.whole]).toEqual([bytes, true]);
    expect((await graph.download('/x', 6)).whole).toBe(false);
    expect(server.seen[0]?.headers.authorization).toBe(`Bearer ${canary}`);
    expect(content.seen[0]?.headers.authorization).toBeUndefined();
    expect(content.seen[0]?.headers['accept-encoding']).toBe('identity');
    expect(graph.usage).toEqual({ requests: 2, downloads: 2, units: 2 });
  });

  it('ask once for a new address where the old one is refused, never for a token (C6, bug 26)', async () => {
    for (const [status, trouble] of [
      [401, 'forbidden'],
      [403, 'forbidden'],
      [404, 'missing'],
    ] as const) {
      await using content = await standIn(({ url }, response) => {
        response.writeHead(url.startsWith('/1') ? 200 : status).end('content');
      });
      let isFresh = true;
      await using server = await standIn((_, response, count) => {
        redirect(response, `${content.url}/${isFresh ? count : 'dead'}?${canary}`);
      });
      const { graph } = openHasty(server.url);
      expect(Buffer.from((await graph.download('/x', 99)).bytes).toString()).toBe('content');
      expect([server.seen.length, content.seen.length]).toEqual([2, 2]);
      isFresh = false;
      expect((await fails(graph.download('/x', 99))).trouble).toBe(trouble);
      expect([server.seen.length, content.seen.length]).toEqual([4, 4]);
    }
  });

  it('start anew from a fresh address when the body breaks, lies or is a part (C9, C12)', async () => {
    const faults: ((response: ServerResponse) => void)[] = [
      (response) =>
        response.writeHead(200, { 'content-length': '9' }).write('half', () => response.destroy()),
      (response) => response.writeHead(206).end('part'),
      (response) => response.writeHead(500).end('<html>'),
      (response) => response.writeHead(200).write('silent'),
    ];
    for (const [index, fault] of faults.entries()) {
      await using content = await standIn((_, response, count) =>
        count === 0 ? fault(response) : response.end('whole'),
      );
      await using server = await standIn((_, response, count) =>
        redirect(response, `${content.url}/${count}`),
      );
      const { graph } = openHasty(server.url);
      expect(Buffer.from((await graph.download('/x', 99)).bytes).toString(), String(index)).toBe('whole');
      expect(content.seen.map(({ url }) => url)).toEqual(['/0', '/1']);
    }
  });

  it('never go where contents do not come from (T27, F66)', async () => {
    const targets = [
      'http://169.254.169.254/latest',
      'http://10.0.0.1/x',
      'https://evil.test/x',
      'https://sharepoint.com.evil.test/x',
      'https://evilsharepoint.com/x',
      'ftp://a.sharepoint.com/x',
      'https://user:pw@a.sharepoint.com/x',
      'https://[::ffff:10.0.0.1]/x',
    ];
    for (const target of targets) {
      await using server = await standIn((_, response) => redirect(response, `${target}?${canary}`));
      const { graph } = openHasty(server.url);
      expect((await fails(graph.download('/x', 9))).trouble, target).toBe('untrusted');
      expect(server.seen).toHaveLength(1);
    }
  });

  it('follow five redirects and no more', async () => {
    await using content = await standIn(({ url }, response) => {
      const left = Number(url.slice(1));
      if (left === 0) response.end('there');
      else redirect(response, `/${left - 1}`);
    });
    let hops = 4;
    await using server = await standIn((_, response) => redirect(response, `${content.url}/${hops}`));
    const { graph } = openHasty(server.url);
    expect((await graph.download('/x', 9)).whole).toBe(true);
    hops = 5;
    expect((await fails(graph.download('/x', 9))).trouble).toBe('untrusted');
  });

  it('take the bytes where the service gives them itself, and its refusals as they are (C9)', async () => {
    await using server = await standIn(({ url }, response) => {
      if (url.endsWith('/gone')) sendJson(response, { error: { code: 'itemNotFound' } }, 404);
      else response.end('direct');
    });
    const { graph } = openHasty(server.url);
    expect((await graph.download('/x', 9)).bytes).toHaveLength(6);
    expect(await fails(graph.download('/gone', 9))).toMatchObject({
      trouble: 'missing',
      codes: ['itemNotFound'],
    });
  });
});
