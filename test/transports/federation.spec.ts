import type { Type } from '@nestjs/common';
import {
  ApolloFederationDriver,
  ApolloGatewayDriver,
  type ApolloFederationDriverConfig,
} from '@nestjs/apollo';
import { IntrospectAndCompose } from '@apollo/gateway';
import { GraphQLModule, Query, ResolveReference, Resolver } from '@nestjs/graphql';
import { MercuriusDriver } from '@nestjs/mercurius';
import type { ApolloServer } from '@apollo/server';
import { afterEach, describe, expect, it } from '@jest/globals';
import { RateLimit, RateLimitModule } from '../../lib/index.js';
import { closeApps, startApp, type TestApp } from '../support/nest-app.js';
import type { Answer } from '../support/http-client.js';

const MINUTE = { window: '1m', algorithm: 'fixed-window' } as const;

const LINK = 'extend schema @link(url: "https://specs.apollo.dev/federation/v2.0", import: ["@key"])';
const USERS = 'type User @key(fields: "id") { id: ID! name: String } type Query { users: [User] }';
const ORDERS =
  'type User @key(fields: "id", resolvable: false) { id: ID! } type Order { id: ID! user: User } type Query { orders: [Order] }';

const named = ({ id }: { readonly id: string }) => ({ id, name: `user ${id}` });

@Resolver('User')
class Users {
  @ResolveReference()
  resolveReference(reference: { readonly id: string }) {
    return named(reference);
  }

  @Query('users')
  users() {
    return [named({ id: 'ada' })];
  }
}

@Resolver('User')
class LimitedUsers {
  @RateLimit({ ...MINUTE, name: 'reference', limit: 2 })
  @ResolveReference()
  resolveReference(reference: { readonly id: string }) {
    return named(reference);
  }
}

const IDS = ['ada', 'grace', 'joan'];

@Resolver('Order')
class Orders {
  @Query('orders')
  orders() {
    return IDS.map((id) => ({ id, user: { id } }));
  }
}

type Parts = readonly [typeDefs: string, resolver: Type];

/** Starts a subgraph whose module limits every query by IP. */
function startSubgraph([typeDefs, resolver]: Parts) {
  return startApp(
    {
      imports: [
        GraphQLModule.forRoot<ApolloFederationDriverConfig>({
          driver: ApolloFederationDriver,
          typeDefs: LINK + typeDefs,
          path: '/graphql',
          fieldResolverEnhancers: ['guards'],
        }),
        RateLimitModule.forRoot({ rules: { default: { ...MINUTE, limit: 2 } } }),
      ],
      providers: [resolver],
    },
    { framework: 'express' },
  );
}

async function startGateway(users: Type) {
  const subgraphs: (TestApp & { readonly name: string; readonly url: string })[] = [];
  for (const [name, parts] of Object.entries({ users: [USERS, users], orders: [ORDERS, Orders] } as const)) {
    const subgraph = await startSubgraph(parts);
    subgraphs.push({ ...subgraph, name, url: `http://127.0.0.1:${subgraph.port}/graphql` });
  }
  const gateway = await startApp(
    {
      imports: [
        GraphQLModule.forRoot({
          driver: ApolloGatewayDriver,
          server: { path: '/graphql' },
          gateway: { supergraphSdl: new IntrospectAndCompose({ subgraphs }) },
        } as never),
      ],
    },
    { framework: 'express' },
  );
  const query = async (text: string) => {
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify({ query: text });
    return bodyOf(await gateway.send({ method: 'POST', path: '/graphql', headers, body }));
  };
  return { query, logs: () => subgraphs.flatMap(({ logs }) => logs.ours()) };
}

interface Body {
  readonly data?: unknown;
  readonly errors?: readonly { readonly message: string; readonly extensions?: { readonly code?: string } }[];
}

const bodyOf = ({ body }: Answer): Body => JSON.parse(body) as Body;

describe('a gateway of two subgraphs, whose modules limit every query by IP', () => {
  afterEach(closeApps);

  it('resolves the references of one query, which are no queries of their own', async () => {
    const { query, logs } = await startGateway(Users);
    expect(await query('{ orders { user { id name } } }')).toEqual({
      data: { orders: IDS.map((id) => ({ user: { id, name: `user ${id}` } })) },
    });
    expect(logs().filter(({ level }) => level !== 'log')).toEqual([]);
  });

  it('limits references by a rule of their own, by the address in the context', async () => {
    const { query } = await startGateway(LimitedUsers);
    const { errors } = await query('{ orders { user { name } } }');
    expect(errors?.map(({ extensions }) => extensions?.code)).toEqual(['TOO_MANY_REQUESTS']);
  });
});

describe('an operation of the program itself, without a request, under a rule by IP', () => {
  afterEach(closeApps);

  const WARNING = {
    level: 'warn',
    message: expect.stringMatching(
      /got a 500. The context of its GraphQL operation has no request: .*executeOperation\(\)/,
    ),
  };

  it('is refused with a line that names the context: executeOperation() of Apollo', async () => {
    const { app, logs } = await startSubgraph([USERS, Users]);
    const module: unknown = app.get(GraphQLModule);
    const server = (module as { graphQlAdapter: { instance: ApolloServer } }).graphQlAdapter.instance;
    const { body } = await server.executeOperation({ query: '{ users { id } }' });
    expect(JSON.stringify(body)).toContain('Internal Server Error');
    expect(logs.ours().filter(({ level }) => level !== 'log')).toEqual([WARNING]);
  });

  it('is refused with the same line: app.graphql() of Mercurius', async () => {
    const { app, logs } = await startApp(
      {
        imports: [
          GraphQLModule.forRoot({
            driver: MercuriusDriver,
            typeDefs: 'type Query { users: [User] } type User { id: ID }',
          }),
          RateLimitModule.forRoot({ rules: { default: { ...MINUTE, limit: 2 } } }),
        ],
        providers: [Users],
      },
      { framework: 'fastify' },
    );
    const fastify = app.getHttpAdapter().getInstance() as { graphql(text: string): Promise<Body> };
    expect((await fastify.graphql('{ users { id } }')).errors).toHaveLength(1);
    expect(logs.ours().filter(({ level }) => level !== 'log')).toEqual([WARNING]);
  });
});
