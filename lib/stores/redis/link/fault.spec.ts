import { inspect } from 'node:util';
import { expect, it } from '@jest/globals';
import { faultOf } from './fault.js';

const reply = (message: string): Error => Object.assign(new Error(message), { name: 'ReplyError' });

it.each([
  [
    'ERR Unknown Redis command called from script script: heartbeat, on user_function:90.',
    'Redis at a:1 does not have the command that the limiter needs; see "Access" in docs/operations.md',
  ],
  [
    "ERR unknown command 'fcall', with args beginning with: 'decide' '1' 'key' ",
    'Redis at a:1 does not have the command FCALL; see "Access" in docs/operations.md',
  ],
  [
    "ERR user_function:559: bad argument #2 to 'unpack' (data string too short) script: decide",
    'Redis at a:1: a key of the limiter holds a value that it did not write; reset the counter, or set another `prefix` (INVALID_STATE)',
  ],
])('the reply %p is reported with its cause', (message, expected) => {
  expect(faultOf(reply(message), 'a:1').message).toBe(expected);
});

it('the cause of a fault has no subject', () => {
  const message = "ERR unknown command 'fcall', with args beginning with: 'decide' 'rl:{203.0.113.7}' ";
  const command = { name: 'fcall', args: ['decide', 'rl:{203.0.113.7}'] };
  const { cause } = faultOf(Object.assign(reply(message), { command }), 'a:1');
  expect(inspect(cause)).not.toContain('203.0.113.7');
});
