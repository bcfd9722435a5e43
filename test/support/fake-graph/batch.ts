import { refusal, type Asked, type Reply } from './reply.ts';

interface Step {
  readonly id: string;
  readonly method: string;
  readonly url: string;
}

/** At most so many steps in one request (B1). */
const mostSteps = 20;

/** Answers a batch: each step by itself, in another order than asked, the whole with 200 whatever the steps came to. */
export async function answerBatch(asked: Asked, answer: (step: Asked) => Promise<Reply>): Promise<Reply> {
  const steps = readSteps(asked.body);
  if (steps === null || steps.length === 0 || steps.length > mostSteps) return refusal(400, 'BadRequest');
  const responses = [];
  for (const { id, method, url } of steps) {
    const { authorization = '' } = asked.headers;
    const step = { ...asked, method, path: url, body: '', batched: true, headers: { authorization } };
    const { status, headers = {}, body = {} } = await answer(step);
    responses.push({ id, status, headers: { 'Content-Type': 'application/json', ...headers }, body });
  }
  return { status: 200, body: { responses: responses.toReversed() } };
}

function readSteps(body: string): readonly Step[] | null {
  try {
    const { requests } = JSON.parse(body) as { readonly requests: readonly Partial<Step>[] };
    const steps = requests.map(({ id, method, url }) => ({
      id: `${id}`,
      method: method ?? '',
      url: url ?? '',
    }));
    const isSound = steps.every(({ url, method }) => url.startsWith('/') && method !== '');
    return isSound && new Set(steps.map(({ id }) => id)).size === steps.length ? steps : null;
  } catch {
    return null;
  }
}
