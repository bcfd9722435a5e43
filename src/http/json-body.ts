import { visit } from 'jsonc-parser';
import { Refusal } from './refusal.ts';

/** Refuses a body that is not said to be JSON in UTF-8. */
export function requireJson(contentType: string | undefined): void {
  if (!/^application\/json *(;|$)/i.test(contentType ?? '')) {
    throw new Refusal(415, 'The content type must be application/json.');
  }
  if (
    /; *charset *=/i.test(contentType ?? '') &&
    !/; *charset *= *"?utf-8"? *(;|$)/i.test(contentType ?? '')
  ) {
    throw new Refusal(415, 'The charset must be utf-8.');
  }
}

/** What a text in JSON holds; `what` names it where it is refused. */
export function parseJson(text: string, what: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    refuseDuplicates(text, what);
    return value;
  } catch (error) {
    if (error instanceof Refusal) throw error;
    // JSON.parse quotes the text, and nesting by the ten thousand ends in a RangeError of the second pass.
    throw new Refusal(
      400,
      `${what} must be JSON, nested like a sensible document; found ${text === '' ? 'nothing' : 'something else'}.`,
    );
  }
}

/** Of two members of one name JSON.parse keeps the last and other readers the first: two programs, two requests (F70). */
function refuseDuplicates(text: string, what: string): void {
  const objects: Set<string>[] = [];
  visit(text, {
    onObjectBegin: () => void objects.push(new Set()),
    onObjectEnd: () => void objects.pop(),
    onObjectProperty: (name) => {
      const seen = objects.at(-1);
      if (seen?.has(name))
        throw new Refusal(400, `${what} holds ${JSON.stringify(name.slice(0, 40))} twice.`);
      seen?.add(name);
    },
  });
}
