import { rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Consumer } from './consumer.js';
import { packTarball } from './tarball.js';

jest.setTimeout(300_000);

/** The specs of this repository that run on Nest 11: in CI, those of what Nest does differently in each version. */
const SPECS =
  process.env['NEST_11_SPECS'] === 'all'
    ? [
        'test/transports',
        'test/e2e/(before-routing|concurrency|count|filter-order|guard-hooks|headers|late-routes|thrown-denial)',
      ]
    : [
        'test/transports/(before-routing|connections|external-contexts|factories|filter-order)',
        'test/transports/(gateways|graphql|grpc|microservices|providers|settle-frameworks).spec',
        'test/e2e/(before-routing|filter-order|guard-hooks|late-routes|thrown-denial)',
      ];

describe('an application on Nest 11, where global guards and filters do not run for gateways', () => {
  let tarball: string;
  let consumer: Consumer;

  beforeAll(async () => {
    tarball = await packTarball();
    consumer = await Consumer.install(tarball, 'nest-11-transports');
    await consumer.compile('--skipLibCheck', 'true');
  });

  afterAll(async () => {
    await consumer.remove();
    await rm(dirname(tarball), { recursive: true, force: true });
  });

  it('its gateways, microservice and GraphQL servers are limited, and each denial is answered', async () => {
    const lines = (await consumer.run("require('./dist/main.js')")).trim().split('\n');
    const policy = '"default";q=1;w=60';
    const operations = [
      [200, policy, { orders: 'ok' }],
      [429, policy, 'TOO_MANY_REQUESTS'],
      'value',
      'TOO_MANY_REQUESTS',
    ];
    expect(Object.assign({}, ...lines.map((line) => JSON.parse(line) as object))).toEqual({
      'socket.io': ['said', ['default'], 'Forbidden resource', 'Forbidden resource', ['connect']],
      ws: ['said', ['default'], [429, true]],
      hybrid: ['sum', ['default']],
      apollo: operations,
      mercurius: operations,
    });
  });

  it('the specs of transports and of responses over HTTP pass', async () => {
    await consumer.runRepositorySpecs(...SPECS);
  }, 1_200_000);
});
