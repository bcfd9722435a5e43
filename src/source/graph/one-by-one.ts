import pLimit from 'p-limit';
import { GraphError } from './graph-error.ts';
import type { BatchAnswer, BatchStep, GraphAnswer } from './graph.ts';

/** What the service says where it takes no batch at all. */
const noBatches = new Set([404, 405, 501]);

const requestsAtOnce = 4;

/** Whether the request of a whole batch was refused: `never` where none is taken, `this` where one step may have spoilt it (B1). */
export function whyNoBatch(error: unknown): 'never' | 'this' | null {
  if (!(error instanceof GraphError) || error.status === null) return null;
  return noBatches.has(error.status) ? 'never' : error.status === 400 ? 'this' : null;
}

/** The steps of a batch, each as a request of its own: slower, and as true. */
export function askOneByOne(
  ask: (path: string) => Promise<GraphAnswer>,
  steps: readonly BatchStep[],
): Promise<BatchAnswer[]> {
  return pLimit(requestsAtOnce).map(steps, async ({ path }) => {
    try {
      const { status, body, requestId } = await ask(path);
      return { status, headers: {}, body, requestId };
    } catch (error) {
      if (!(error instanceof GraphError) || error.status === null || !isOfStep(error)) throw error;
      const [code, innerCode] = error.codes;
      const body = { error: { code, innerError: { code: innerCode } } };
      return { status: error.status, headers: {}, body, requestId: error.requestId };
    }
  });
}

/** Trouble of one item; the others would say the same of anything. */
function isOfStep({ trouble }: GraphError): boolean {
  return ['forbidden', 'missing', 'locked', 'gone', 'refused'].includes(trouble);
}
