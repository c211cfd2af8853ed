import { describe, expect, it } from '@jest/globals';
import { BY, byFromText, subjectParts } from './by.js';

const FUNCTION = () => 'ann';

describe('`by`', () => {
  it.each<unknown>([
    ...['ip', 'user', 'api-key', 'everyone', 'authorization', 'Authorization', 'cookie', 'Cookie'],
    ...[
      'x-tenant',
      'X-Tenant',
      'X-API-Key',
      'x-apikey',
      FUNCTION,
      { header: 'apikey' },
      { header: 'Api-Key' },
    ],
    ['ip', 'x-tenant', { header: 'tenant' }, FUNCTION],
  ])('may be %p', (by) => {
    expect(BY.accepts(by)).toBe(true);
  });

  it.each<[unknown, string | undefined]>([
    ['usr', 'did you mean "user", or { header: "usr" } for a header of that name?'],
    ['users', 'did you mean "user", or { header: "users" } for a header of that name?'],
    ['uesr', 'did you mean "user", or { header: "uesr" } for a header of that name?'],
    ['User', 'did you mean "user", or { header: "User" } for a header of that name?'],
    ['IP', 'did you mean "ip", or { header: "IP" } for a header of that name?'],
    ['ips', 'did you mean "ip", or { header: "ips" } for a header of that name?'],
    ['apikey', 'did you mean "api-key", or { header: "apikey" } for a header of that name?'],
    ['apiKey', 'did you mean "api-key", or { header: "apiKey" } for a header of that name?'],
    ['api_key', 'did you mean "api-key", or { header: "api_key" } for a header of that name?'],
    ['Api-Key', 'did you mean "api-key", or { header: "Api-Key" } for a header of that name?'],
    ['every one', 'did you mean "everyone"?'],
    [
      'authorisation',
      'did you mean "authorization", or { header: "authorisation" } for a header of that name?',
    ],
    ['cookies', 'did you mean "cookie", or { header: "cookies" } for a header of that name?'],
    ['tenant', 'write { header: "tenant" } for a header of that name'],
    [['ip', 'usr'], 'did you mean "user", or { header: "usr" } for a header of that name?'],
    ['header:apikey', undefined],
    ['x tenant', undefined],
    ['x-tenant\r\n', undefined],
    ['x-'.repeat(40), undefined],
    ...['', [], [[]], ['ip', ['user']], {}, { header: '' }, { header: 'a b' }, { header: 5 }].map(
      (by): [unknown, undefined] => [by, undefined],
    ),
    ...[{ header: 'apikey', hash: true }, { headers: 'apikey' }, null, 5, true].map(
      (by): [unknown, undefined] => [by, undefined],
    ),
    ...['userId', 'user_id', 'username', 'uid', 'req.user.id', 'sub'].map((by): [string, string] => [
      by,
      'write "user", or a function of the ExecutionContext',
    ]),
    ...['clientIp', 'ipAddress', 'remoteAddress', 'req.ip'].map((by): [string, string] => [
      by,
      'write "ip", or a function of the ExecutionContext',
    ]),
    ['global', 'write "everyone", or a function of the ExecutionContext'],
  ])('stops the application when it is %p, which would count all clients by their IP', (by, fix) => {
    expect(BY.accepts(by)).toBe(false);
    expect(BY.fix!(by)).toBe(fix);
  });

  it.each<[string, unknown]>([
    ['ip', 'ip'],
    ['api-key, ip', ['api-key', 'ip']],
    ['header:apikey', { header: 'apikey' }],
    ['header:apikey,ip', [{ header: 'apikey' }, 'ip']],
    ['apikey', 'apikey'],
    ['', ''],
  ])('can be parsed from a variable: %s', (text, by) => {
    expect(byFromText(text)).toEqual(by);
  });

  it('lists the parts of a request that it reads', () => {
    const all = [
      'ip',
      'user',
      'api-key',
      'X-Tenant',
      { header: 'ApiKey' },
      { ip: 'X-Edge' },
      FUNCTION,
    ] as const;
    expect(subjectParts(all)).toEqual({
      ip: true,
      user: true,
      functions: [FUNCTION],
      headers: ['x-api-key', 'x-tenant', 'apikey'],
      addressHeaders: ['x-edge'],
    });
    const none = { ip: false, user: false, functions: [], headers: [], addressHeaders: [] };
    expect(subjectParts('everyone')).toEqual(none);
  });
});
