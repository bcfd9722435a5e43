/** The least that can be done: an HTTP server that keeps every answer open and, when told to, writes one chunk to each. */
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

const responses: ServerResponse[] = [];
const chunk = `event: next\ndata: ${'x'.repeat(280)}\n\n`;

process.once('disconnect', () => process.exit());
process.on('message', () => {
  for (const response of responses) response.write(chunk);
});
const server = createServer((request, response) => {
  request.resume();
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(':\n\n');
  responses.push(response);
});
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
