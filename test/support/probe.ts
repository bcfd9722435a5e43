/** What one request to the API came to. */
export interface Answer {
  /** Milliseconds until it was whole. */
  readonly tookMs: number;
  readonly status: number;
  /** Seconds after which the caller may come back, where it was told so. */
  readonly retryAfter: string | null;
  readonly data: Record<string, unknown> | null;
  /** The codes of its errors. */
  readonly codes: readonly string[];
  readonly messages: readonly string[];
}

/** Asks a server without authentication; throws only where it does not answer at all. */
export async function ask(url: string, query: string): Promise<Answer> {
  const began = performance.now();
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query }),
    signal: AbortSignal.timeout(60_000),
  });
  const body = (await response.json()) as {
    data?: Record<string, unknown> | null;
    errors?: { message: string; extensions: { code: string } }[];
  };
  return {
    tookMs: performance.now() - began,
    status: response.status,
    retryAfter: response.headers.get('retry-after'),
    data: body.data ?? null,
    codes: (body.errors ?? []).map((error) => error.extensions.code),
    messages: (body.errors ?? []).map((error) => error.message),
  };
}

/**
 * What is wrong with answers given while the database was in trouble, each as a sentence: every one must be data, or
 * `UNAVAILABLE` with a time to come back within two seconds, and none may be late.
 */
export function faultsOf(answers: readonly Answer[], patientMs: number): string[] {
  return answers.flatMap((answer, at) => [
    ...answer.codes.filter((code) => code !== 'UNAVAILABLE').map((code) => `answer ${at} is ${code}`),
    ...(answer.codes.length === 0 && answer.data === null ? [`answer ${at} holds nothing`] : []),
    ...(answer.codes.length > 0 && !['1', '2'].includes(answer.retryAfter ?? '')
      ? [`answer ${at} says to come back after ${answer.retryAfter} s`]
      : []),
    ...(answer.tookMs > patientMs ? [`answer ${at} took ${Math.round(answer.tookMs)} ms`] : []),
  ]);
}

/** Somebody who reads without pause, as the runtimes of agents do. */
export interface Probe {
  /** Every answer so far, in order. */
  readonly answers: readonly Answer[];
  /** Resolves when answers with data come again; fails after `timeoutMs`. */
  untilServed(timeoutMs?: number): Promise<void>;
  stop(): Promise<readonly Answer[]>;
}

/** Asks the same question every `everyMs`, whatever the earlier ones are waiting for. */
export function startProbe(url: string, query: string, everyMs = 50): Probe {
  const answers: Answer[] = [];
  const underWay = new Set<Promise<unknown>>();
  const timer = setInterval(() => {
    const asking = ask(url, query).then((answer) => answers.push(answer));
    underWay.add(asking);
    asking.finally(() => underWay.delete(asking)).catch(() => undefined);
  }, everyMs);
  return {
    answers,
    async untilServed(timeoutMs = 30_000) {
      const from = answers.length;
      const deadline = performance.now() + timeoutMs;
      while (!answers.slice(from).some((answer) => answer.codes.length === 0)) {
        if (performance.now() > deadline) throw new Error(`Not served within ${timeoutMs} ms.`);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    },
    async stop() {
      clearInterval(timer);
      await Promise.all(underWay);
      return answers;
    },
  };
}
