#!/usr/bin/env node
// The one entry of every command, in plain JavaScript, so that a Node.js too old for the rest can still say so.
import { spawn } from 'node:child_process';
import nodeModule from 'node:module';
import { fileURLToPath } from 'node:url';
import { findBundledNode } from './bundled-node.mjs';

const wantedMajor = 24;
const major = Number(process.versions.node.split('.')[0]);
const bundledNode = findBundledNode();

if (major >= wantedMajor) {
  // What has been compiled once starts in half the time: completion is asked for at each press of a key.
  nodeModule.enableCompileCache(fileURLToPath(new URL('../../node_modules/.cache/node', import.meta.url)));
  await import('./main.ts');
} else if (bundledNode !== null) {
  relaunch(bundledNode);
} else {
  console.error(
    `agent-knowledge needs Node.js ${wantedMajor} or newer; this is ${process.versions.node}. ` +
      'On Linux and Windows `npm ci` brings one along; elsewhere install it first.',
  );
  process.exitCode = 1;
}

/**
 * The same command under the Node.js that `npm ci` installed, with our signals passed on.
 * @param {string} node
 */
function relaunch(node) {
  const child = spawn(node, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], { stdio: 'inherit' });
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
