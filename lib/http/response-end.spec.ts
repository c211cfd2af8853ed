import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { expect, it } from '@jest/globals';
import { afterResponse, type ResponseEnd } from './response-end.js';

const REQUESTS = 50;

it('responses that wait on one connection have one listener on it, and learn all that it has closed', async () => {
  const ends: ResponseEnd[] = [];
  const responses: ServerResponse[] = [];
  let all = (): void => undefined;
  const arrived = new Promise<void>((resolve) => (all = resolve));
  let ended = (): void => undefined;
  const over = new Promise<void>((resolve) => (ended = resolve));
  const server = createServer((_request, response) => {
    responses.push(response);
    afterResponse(response, (end) => {
      if (ends.push(end) === REQUESTS) ended();
    });
    if (responses.length === REQUESTS) all();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  let socket: Socket | undefined;
  server.on('connection', (each: Socket) => (socket = each));
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  client.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(REQUESTS));
  await arrived;
  expect(socket!.listenerCount('close')).toBeLessThan(6);
  client.destroy();
  await over;
  expect(new Set(ends)).toEqual(new Set(['cut-off']));
  server.close();
});
