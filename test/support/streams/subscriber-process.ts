/** A subscriber that is a process of its own and can be killed: its options and the path of its book are its arguments. */
import { LineFile } from '../history/line-file.ts';
import type { StreamLine } from '../history/stream-record.ts';
import { subscribe, type SubscriberOptions } from './subscriber.ts';

const [options = '', path = ''] = process.argv.slice(2);
process.once('disconnect', () => process.exit());
using book = new LineFile<StreamLine>(path);
process.send?.('begun');
await subscribe(JSON.parse(options) as SubscriberOptions, book, new AbortController().signal);
