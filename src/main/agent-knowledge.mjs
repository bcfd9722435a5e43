#!/usr/bin/env node
// The one entry of every command, in plain JavaScript, so that a Node.js too old for the rest can still say so.
import { existsSync } from 'node:fs';
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const wantedMajor = 24;
const major = Number(process.versions.node.split('.')[0]);
const bundledNode = fileURLToPath(
  new URL(`../../node_modules/.bin/node${process.platform === 'win32' ? '.exe' : ''}`, import.meta.url),
);

if (major >= wantedMajor) {
  await import('./main.ts');
} else if (existsSync(bundledNode) && !process.env['AGENT_KNOWLEDGE_RELAUNCHED']) {
  relaunch();
} else {
  console.error(
    `agent-knowledge needs Node.js ${wantedMajor} or newer; this is ${process.versions.node}. ` +
      'On Linux and Windows `npm ci` brings one along; elsewhere install it first.',
  );
  process.exitCode = 1;
}

/** The same command under the Node.js that `npm ci` installed, with our signals passed on. */
function relaunch() {
  const child = spawn(bundledNode, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], {
    stdio: 'inherit',
    env: { ...process.env, AGENT_KNOWLEDGE_RELAUNCHED: '1' },
  });
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) {
    process.on(signal, () => child.kill(signal));
  }
  child.on('error', (error) => {
    console.error(error.message);
    process.exitCode = 1;
  });
  child.on('exit', (code, signal) => {
    process.exitCode = code ?? (signal === null ? 1 : 128);
  });
}
