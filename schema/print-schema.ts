import { writeFile } from 'node:fs/promises';
import { pathToFileURL } from 'node:url';
import { printSchema } from 'graphql';
import { schema } from './schema.ts';

/** The schema as it is committed; a test fails when the two differ. */
export function printedSchema(): string {
  return `${printSchema(schema)}\n`;
}

/** Where the printed schema is committed. */
export const printedSchemaPath = new URL('schema.graphql', import.meta.url);

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  await writeFile(printedSchemaPath, printedSchema());
}
