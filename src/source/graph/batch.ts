import { fieldOf, mayPass, readCodes, readRequestId, toPassing } from './answer.ts';
import { Attempts, PassingTrouble, type AttemptsWanted } from './attempts.ts';
import { GraphError } from './graph-error.ts';
import type { BatchAnswer, BatchStep, GraphAnswer } from './graph.ts';

/** As many as the service takes (B1). */
const mostSteps = 20;

export interface BatchWanted extends AttemptsWanted {
  /** Posts one batch; the same promises as for a call. */
  readonly post: (body: unknown, steps: number) => Promise<GraphAnswer>;
  /** Gets a new token for whole steps that were refused with 401; throws where there is none. */
  readonly renew: (headers: Readonly<Record<string, string>>) => Promise<void>;
}

interface Open {
  readonly index: number;
  readonly path: string;
  readonly attempts: Attempts;
  isRenewed: boolean;
}

/**
 * Asks all steps, 20 to a request, and those that failed in passing again by themselves, each with its own count. An answer
 * belongs to a step by its id, in whatever order it comes.
 */
export async function runBatch(wanted: BatchWanted, steps: readonly BatchStep[]): Promise<BatchAnswer[]> {
  const answers: BatchAnswer[] = [];
  let open: Open[] = steps.map(({ path }, index) => ({
    index,
    path,
    attempts: new Attempts(wanted),
    isRenewed: false,
  }));
  while (open.length > 0) {
    const chunk = open.slice(0, mostSteps);
    const came = await postChunk(wanted, chunk);
    await renewOnce(wanted, chunk, came);
    const left: Open[] = [];
    for (const step of chunk) if (!(await settle(wanted, step, came, answers))) left.push(step);
    open = [...left, ...open.slice(mostSteps)];
  }
  return answers;
}

async function postChunk(wanted: BatchWanted, chunk: readonly Open[]): Promise<Map<string, BatchAnswer>> {
  const requests = chunk.map(({ index, path }) => ({ id: String(index), method: 'GET', url: path }));
  const { body } = await wanted.post({ requests }, chunk.length);
  const responses = fieldOf(body, 'responses');
  const came = new Map<string, BatchAnswer>();
  for (const response of Array.isArray(responses) ? responses : []) {
    const [id, status] = [fieldOf(response, 'id'), fieldOf(response, 'status')];
    if (typeof status !== 'number' || (typeof id !== 'string' && typeof id !== 'number')) continue;
    const headers = lowerCased(fieldOf(response, 'headers'));
    const answer = fieldOf(response, 'body');
    came.set(String(id), { status, headers, body: answer, requestId: readRequestId(headers, answer) });
  }
  return came;
}

/** One new token for all steps of a request that were refused, and for each step one only (T8). */
async function renewOnce(
  wanted: BatchWanted,
  chunk: readonly Open[],
  came: ReadonlyMap<string, BatchAnswer>,
): Promise<void> {
  const refused = chunk.filter(({ index }) => came.get(String(index))?.status === 401);
  const answer = came.get(String(refused[0]?.index));
  if (answer === undefined) return;
  if (refused.some(({ isRenewed }) => isRenewed))
    throw new GraphError('credentials', 'Microsoft Graph refuses a new token too (401), in a batch.', {
      status: 401,
      codes: readCodes(answer.body),
      requestId: answer.requestId,
    });
  for (const step of refused) step.isRenewed = true;
  await wanted.renew(answer.headers);
}

/** Whether the step has its answer; else it has waited, and is to be asked again. */
async function settle(
  wanted: BatchWanted,
  step: Open,
  came: ReadonlyMap<string, BatchAnswer>,
  answers: BatchAnswer[],
): Promise<boolean> {
  const answer = came.get(String(step.index));
  if (answer?.status === 401) return false;
  const passing = whyAgain(answer, wanted.habits.now());
  try {
    if (passing !== null) {
      await step.attempts.again(passing);
      return false;
    }
  } catch (error) {
    // Its own status is the answer, after its own retries; a step without any has none.
    if (answer === undefined || !(error instanceof GraphError)) throw error;
  }
  if (answer !== undefined) answers[step.index] = answer;
  return true;
}

function whyAgain(answer: BatchAnswer | undefined, nowMs: number): PassingTrouble | null {
  if (answer === undefined)
    return new PassingTrouble(new GraphError('unavailable', 'A step of a batch was not answered.'));
  const { status, body } = answer;
  const isUnreadable = status === 200 && (typeof body !== 'object' || body === null);
  if (!mayPass(status) && !isUnreadable) return null;
  const trouble = new GraphError('unavailable', `A step of a batch was answered with ${status}.`, { status });
  return toPassing(trouble, answer, nowMs);
}

function lowerCased(headers: unknown): Record<string, string> {
  if (typeof headers !== 'object' || headers === null) return {};
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]): [string, string] => [name.toLowerCase(), String(value)]),
  );
}
