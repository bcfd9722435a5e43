/** Opens a source at the folder named, sends the ids of its readers once they are warm, and waits to be killed. */
import { setTimeout as sleep } from 'node:timers/promises';
import { openLocalSource } from '../../src/source/local-source.ts';

const source = openLocalSource({ root: process.argv[2] ?? '.' });
while (source.readers.some((reader) => reader.state !== 'idle')) await sleep(5);
process.send?.(source.readers.map((reader) => reader.processId));
process.on('disconnect', () => process.exit());
