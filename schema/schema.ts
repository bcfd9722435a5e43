import { builder } from './builder.ts';
import './scalars.ts';
import './package.ts';
import './version.ts';
import './version-diff.ts';
import './audit-event.ts';
import './mutations.ts';
import './package-change.ts';

/** The whole schema. Building it fails where a root field declares no scope. */
export const schema = builder.toSchema();
