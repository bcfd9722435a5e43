import { Client } from 'pg';

/** Every statement that this process sends to PostgreSQL while it is recorded, whoever sends it. */
export interface StatementRecording extends Disposable {
  readonly statements: string[];
}

/** Listens at the driver, below the ORM, whose own log does not know what its query builder runs. */
export function recordStatements(): StatementRecording {
  const statements: string[] = [];
  const original = Reflect.get(Client.prototype, 'query') as (...args: unknown[]) => unknown;
  Reflect.set(Client.prototype, 'query', function record(this: Client, ...args: unknown[]) {
    const [first] = args as [string | { readonly text?: string } | undefined];
    const text = typeof first === 'string' ? first : first?.text;
    if (text !== undefined) statements.push(text);
    return original.apply(this, args);
  });
  return {
    statements,
    [Symbol.dispose]: () => void Reflect.set(Client.prototype, 'query', original),
  };
}
