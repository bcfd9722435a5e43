import { builder } from './builder.ts';
import './scalars.ts';
import './package.ts';
import './version.ts';
import './audit-event.ts';
import './mutations.ts';

/** The whole schema. Building it fails where a root field declares no scope. */
export const schema = builder.toSchema();
