import { expect, it } from 'vitest';
import { acceptsStreams, onlyStreams } from '../../src/http/event-stream.ts';

it.each([
  ['text/event-stream', true, true],
  ['TEXT/Event-Stream; charset=utf-8', true, true],
  ['application/json, text/event-stream', true, false],
  ['text/event-stream;q=0.1, */*', true, false],
  ['text/event-stream;q=0, application/json', false, false],
  ['text/event-stream;q=0.0', false, false],
  ['text/*', true, false],
  ['*/*', true, false],
  ['', true, false],
  ['application/json', false, false],
  ['application/xtext/event-stream', false, false],
  ['image/png', false, false],
])('accept %s: a stream may be answered: %s, and nothing else: %s', (accept, may, only) => {
  expect([acceptsStreams(accept), onlyStreams(accept)]).toEqual([may, only]);
});
