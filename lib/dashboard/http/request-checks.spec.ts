import { ForbiddenException } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { checkPeer } from './request-checks.js';

const from = (remoteAddress: string | undefined) => ({ headers: {}, url: '/', socket: { remoteAddress } });

describe('the operations page without guards', () => {
  it.each(['127.0.0.1', '127.8.0.1', '::1', '::ffff:127.0.0.1', undefined])(
    'is for this machine: %s',
    (address) => {
      expect(() => checkPeer(from(address))).not.toThrow();
    },
  );

  it.each(['192.0.2.2', '::ffff:192.0.2.2', '2001:db8::1', 'fe80::1', '10.0.0.1'])(
    'is not for another machine: %s',
    (address) => {
      expect(() => checkPeer(from(address))).toThrow(ForbiddenException);
      expect(() => checkPeer(from(address))).toThrow(`not for ${address}. Set \`guards\``);
      const { socket, ...request } = from(address);
      expect(() => checkPeer({ ...request, raw: { socket } })).toThrow(ForbiddenException);
    },
  );

  it('is not for a connection that was closed, which has no address', () => {
    const socket = { remoteAddress: undefined, destroyed: true };
    expect(() => checkPeer({ headers: {}, url: '/', socket })).toThrow(
      'not for a closed connection. Set `guards`',
    );
  });
});
