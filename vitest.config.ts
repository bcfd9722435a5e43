import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

/** Real faults on real processes and disks that take minutes in all: in `npm run test:long` only, so that `npm test` stays below six. */
const longOnly = [
  'test/journeys/{start,crash,embedded,database-trouble,disk,paused-daemon,failpoints,database-matrix,bad-neighbour,deaf-listener,processes}.test.ts',
  'test/store/embedded-postgres/{crashes,places}.test.ts',
];

export default defineConfig({
  resolve: {
    // graphql has a second build under the condition "development", which Vite sets and Node does not; two copies of
    // it do not know each other's types.
    alias: [{ find: /^graphql$/, replacement: fileURLToPath(import.meta.resolve('graphql')) }],
  },
  test: {
    include: ['test/**/*.test.ts'],
    exclude: process.env['AGENT_KNOWLEDGE_TEST_LONG'] === '1' ? [] : longOnly,
    globalSetup: ['test/support/test-server.ts'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    pool: 'forks',
    // Real servers, real processes and two cores: more files at once only make each other late.
    maxWorkers: 3,
  },
});
