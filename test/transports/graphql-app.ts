import { Injectable, UseGuards, type CanActivate, type Type } from '@nestjs/common';
import { ApolloDriver } from '@nestjs/apollo';
import {
  Args,
  Field,
  GraphQLModule,
  Mutation,
  ObjectType,
  Query,
  ResolveField,
  Resolver,
  Subscription,
  type GqlModuleOptions,
} from '@nestjs/graphql';
import { MercuriusDriver } from '@nestjs/mercurius';
import { createClient, type Client, type FormattedExecutionResult } from 'graphql-ws';
import { PubSub } from 'graphql-subscriptions';
import { WebSocket } from 'ws';
import {
  RateLimit,
  RateLimitModule,
  Usage,
  type RateLimitModuleOptions,
  type RuleDecision,
} from '../../lib/index.js';
import { Gate } from '../support/gate.js';
import { limitHeaders } from '../support/http-client.js';
import { startApp, type AppSetup, type Framework } from '../support/nest-app.js';

const MINUTE = { window: '1m', algorithm: 'fixed-window' } as const;

/** Denies every request, after the rate limit guard. */
@Injectable()
class Never implements CanActivate {
  canActivate() {
    return false;
  }
}

@ObjectType()
class Author {
  @Field() name!: string;
  @Field() books!: number;
}

/** Where the queries of an application wait, and what it publishes. */
export const desk = { gate: new Gate(), pubsub: new PubSub() };

@Resolver(() => Author)
class Desk {
  @RateLimit({ ...MINUTE, name: 'orders', limit: 2 })
  @Query(() => String, { nullable: true })
  orders() {
    return 'ok';
  }

  @RateLimit({ ...MINUTE, name: 'parcels', limit: 5 })
  @Query(() => String, { nullable: true })
  parcels() {
    return 'ok';
  }

  @RateLimit({ ...MINUTE, name: 'quota', limit: 4 })
  @Query(() => String, { nullable: true })
  quota(@Usage() usage: RuleDecision[]) {
    return usage.map(({ rule, remaining }) => `${rule} ${remaining}`).join();
  }

  @RateLimit({ ...MINUTE, name: 'login', limit: 1, count: 'failures' })
  @Mutation(() => Boolean, { nullable: true })
  login(@Args('password') password: string) {
    if (password !== 'right') throw new Error('wrong password');
    return true;
  }

  @RateLimit({ name: 'slow', limit: 1, algorithm: 'concurrency' })
  @Query(() => String, { nullable: true })
  async slow() {
    await desk.gate.pass();
    return 'done';
  }

  @RateLimit({ name: 'held', limit: 1, algorithm: 'concurrency' })
  @RateLimit({ ...MINUTE, name: 'paid', limit: 2, count: 'successes' })
  @RateLimit({ ...MINUTE, name: 'tried', limit: 3, count: 'failures' })
  @UseGuards(Never)
  @Query(() => String, { nullable: true })
  closed() {
    return 'never';
  }

  @RateLimit({ ...MINUTE, name: 'window', limit: 2 })
  @RateLimit({ name: 'both', limit: 1, algorithm: 'concurrency' })
  @Query(() => String, { nullable: true })
  async both() {
    await desk.gate.pass();
    return 'done';
  }

  @RateLimit({ name: 'stream', limit: 1, algorithm: 'concurrency' })
  @Subscription(() => String)
  ticks() {
    return desk.pubsub.asyncIterableIterator('ticks');
  }

  @Query(() => [Author], { nullable: true })
  authors(): Author[] {
    return ['Ada', 'Grace'].map((name) => Object.assign(new Author(), { name }));
  }

  @ResolveField(() => Number, { nullable: true })
  books() {
    return 3;
  }
}

/** A server of GraphQL in Nest, and its HTTP framework. */
export interface GraphqlSetup {
  readonly title: string;
  readonly framework: Framework;
  readonly options: GqlModuleOptions;
}

const APOLLO = { driver: ApolloDriver, graphiql: false, subscriptions: { 'graphql-ws': true } };
const withResponse = (req: unknown, res: unknown) => ({ req, res });

export const GRAPHQL: readonly GraphqlSetup[] = [
  { title: 'Apollo on Express', framework: 'express', options: APOLLO },
  {
    title: 'Apollo on Express with the response in its context',
    framework: 'express',
    options: { ...APOLLO, context: ({ req, res }: { req: unknown; res: unknown }) => withResponse(req, res) },
  },
  { title: 'Apollo on Fastify', framework: 'fastify', options: APOLLO },
  {
    title: 'Mercurius',
    framework: 'fastify',
    options: { driver: MercuriusDriver, subscription: { fullWsTransport: false } } as GqlModuleOptions,
  },
];

/** The response to one operation. */
export interface GraphqlAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly data: Record<string, unknown> | null | undefined;
  /** The code, or the message of an error without a code of ours. */
  readonly errors: readonly string[];
  readonly extensions: Record<string, unknown> | undefined;
}

interface GraphqlError {
  readonly message: string;
  readonly extensions?: Record<string, unknown>;
}

/** Starts an application with a server of GraphQL. */
export async function startGraphql(
  { framework, options }: GraphqlSetup,
  limits: RateLimitModuleOptions = {},
  resolver: Type = Desk,
  configure?: AppSetup['configure'],
) {
  desk.gate = new Gate();
  const graphql = GraphQLModule.forRoot({ autoSchemaFile: true, path: '/graphql', ...options });
  const started = await startApp(
    { imports: [graphql, RateLimitModule.forRoot(limits)], providers: [resolver, Never] },
    { framework, trustProxy: true, ...(configure && { configure }) },
  );
  const clients: Client[] = [];

  async function query(text: string, ip = '203.0.113.1'): Promise<GraphqlAnswer> {
    const answer = await started.send({
      method: 'POST',
      path: '/graphql',
      headers: { 'content-type': 'application/json', 'x-forwarded-for': ip },
      body: JSON.stringify({ query: text }),
    });
    const { data, errors = [] } = JSON.parse(answer.body) as {
      data?: Record<string, unknown> | null;
      errors?: GraphqlError[];
    };
    return {
      status: answer.status,
      headers: limitHeaders(answer),
      data,
      errors: errors.map(({ message, extensions }) => codeOf(extensions) ?? message),
      extensions: errors.find(({ extensions }) => codeOf(extensions) !== undefined)?.extensions,
    };
  }

  /** Returns a client that stays connected without a subscription. */
  function connect(ip = '203.0.113.1') {
    return clientOf(ip, false);
  }

  function clientOf(ip: string, isLazy: boolean): Client {
    class From extends WebSocket {
      constructor(url: string, protocols: string[]) {
        super(url, protocols, { headers: { 'x-forwarded-for': ip } });
      }
    }
    const client = createClient({
      url: `ws://127.0.0.1:${started.port}/graphql`,
      webSocketImpl: From,
      retryAttempts: 0,
      lazy: isLazy,
      onNonLazyError: () => undefined,
    });
    clients.push(client);
    return client;
  }

  /** Subscribes, and collects what arrives. */
  function subscribe(text: string, ip = '203.0.113.1', client = clientOf(ip, true)) {
    const received: unknown[] = [];
    const errors: GraphqlError[] = [];
    /** `isError`: whether the subscription ended with a message of the type `error`. */
    const state = { isClosed: false, isError: false };
    const collect = (found: unknown): void =>
      void errors.push(...((Array.isArray(found) ? found : [found]) as GraphqlError[]));
    const stop = client.subscribe(
      { query: text },
      {
        next: ({ data, errors: found }: FormattedExecutionResult) => {
          if (found) collect(found);
          else received.push(data);
        },
        error: (error) => {
          collect(error);
          state.isClosed = state.isError = true;
        },
        complete: () => (state.isClosed = true),
      },
    );
    const codes = () => errors.map(({ message, extensions }) => codeOf(extensions) ?? message);
    return { received, errors, codes, state, stop, leave: () => client.terminate() };
  }

  const close = async () => {
    desk.gate.open();
    for (const client of clients) client.terminate();
    await started.close();
  };
  return { ...started, query, connect, subscribe, close };
}

function codeOf(extensions: Record<string, unknown> | undefined): string | undefined {
  const code = extensions?.['code'];
  return code === 'TOO_MANY_REQUESTS' || code === 'SERVICE_UNAVAILABLE' ? code : undefined;
}
