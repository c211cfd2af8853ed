import { connect } from 'node:net';

/**
 * Whether a Redis server replies to PING within 200 ms. An error reply about a missing password counts as a reply.
 *
 * @param {import('node:net').NetConnectOpts} address of a Unix socket, or of a host and port
 * @returns {Promise<boolean>}
 */
export function answersPing(address) {
  return new Promise((resolve) => {
    const socket = connect({ ...address, timeout: 200 });
    const settle = (answer) => {
      socket.destroy();
      resolve(answer);
    };
    socket.once('connect', () => socket.write('PING\r\n'));
    socket.once('data', (reply) => settle(/^(\+PONG|-NOAUTH)/.test(String(reply))));
    for (const failure of ['error', 'timeout', 'close']) socket.once(failure, () => settle(false));
  });
}
