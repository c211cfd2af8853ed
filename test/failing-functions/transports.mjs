// Applications whose own functions fail in every way, called over every transport but HTTP, in a separate process. It
// prints as JSON, for each transport, the errors that would have ended the process and the calls without a response.
//
//   node transports.mjs '{ "redis", "prefix" }'
import 'reflect-metadata';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { credentials, loadPackageDefinition } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { ApolloDriver } from '@nestjs/apollo';
import { Controller, Injectable, Module } from '@nestjs/common';
import { APP_GUARD, NestFactory } from '@nestjs/core';
import { GraphQLModule, Query, Resolver, Subscription } from '@nestjs/graphql';
import {
  ClientProxyFactory,
  EventPattern,
  GrpcMethod,
  GrpcStreamCall,
  GrpcStreamMethod,
  MessagePattern,
  Transport,
} from '@nestjs/microservices';
import { WsAdapter } from '@nestjs/platform-ws';
import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { createClient } from 'graphql-ws';
import { firstValueFrom, of } from 'rxjs';
import { io } from 'socket.io-client';
import { WebSocket } from 'ws';
import { RateLimit, RateLimitEvents, RateLimitGuard, RateLimitModule } from '../../dist/esm/index.js';
import { freePort } from '../support/redis/free-port.mjs';
import { BEHAVIOURS } from './behaviours.mjs';
import { PLACES } from './places.mjs';

const { redis, prefix } = JSON.parse(process.argv[2]);
const LONGEST_MS = 10_000;
const GRPC = ['Unary', 'Streams', 'Requests', 'Calls', 'Talks'];

let escaped = [];
process.on('unhandledRejection', (error) => escaped.push(`unhandled rejection: ${textOf(error)}`));
process.on('uncaughtException', (error) => escaped.push(`uncaught exception: ${textOf(error)}`));
const textOf = (error) => (error instanceof Error ? error.stack : String(error));

/** What the function in one place does during one call. */
let current = { place: '', behave: () => undefined };
const inPlace = (place) => () => (current.place === place ? current.behave() : undefined);

/** The hooks of the guard fail as well. */
const HOOKS = { subjectOf: PLACES.decision, shouldSkip: PLACES.decision, deny: PLACES.denied };
const places = { ...PLACES, ...HOOKS };

/** The methods of each class: the name, and the rules. `free` has none. */
const methods = [
  ...Object.entries(places).map(([place, rulesOf]) => ({
    name: nameOf(place),
    rules: rulesOf(inPlace(place)),
  })),
  { name: 'free', rules: [] },
];
function nameOf(place) {
  return place.replace(/\W/g, '_');
}

function addMethod(type, key, method, { rules }, decorate) {
  Object.defineProperty(type.prototype, key, { value: method, writable: true, configurable: true });
  const descriptor = Object.getOwnPropertyDescriptor(type.prototype, key);
  for (const rule of rules) RateLimit({ by: 'everyone', ...rule })(type.prototype, key, descriptor);
  decorate(type.prototype, key, descriptor);
  Object.defineProperty(type.prototype, key, descriptor);
}

/** Returns a class with all methods. */
function classOf(className, handle, decorate) {
  const type = { [className]: class {} }[className];
  for (const each of methods) {
    addMethod(type, each.name, (...args) => handle(...args), each, decorate(each.name));
  }
  return type;
}

/** Returns classes that limit connections: a gateway for each place. */
function connectionsOf(optionsOf) {
  return methods.map((each) => {
    const type = { [`Connect_${each.name}`]: class {} }[`Connect_${each.name}`];
    addMethod(
      type,
      'handleConnection',
      () => undefined,
      each,
      () => undefined,
    );
    WebSocketGateway(optionsOf(each.name))(type);
    return type;
  });
}

const untyped = (decorate) => (target, key, descriptor) => {
  Reflect.defineMetadata('design:paramtypes', [], target, key);
  decorate(target, key, descriptor);
};
async function* values(name) {
  yield { [name]: 'handled' };
}

const Messages = classOf(
  'Messages',
  () => 'handled',
  (name) => MessagePattern(name, Transport.TCP),
);
const Events = classOf(
  'Events',
  () => undefined,
  (name) => EventPattern(`event:${name}`, Transport.TCP),
);
const Unary = classOf(
  'Unary',
  () => ({}),
  (name) => GrpcMethod('Unary', name),
);
const Streams = classOf(
  'Streams',
  () => of({}),
  (name) => GrpcMethod('Streams', name),
);
const Requests = classOf(
  'Requests',
  () => of({}),
  (name) => GrpcStreamMethod('Requests', name),
);
const Calls = classOf(
  'Calls',
  (_call, done) => done(null, {}),
  (name) => GrpcStreamCall('Calls', name),
);
const Talks = classOf(
  'Talks',
  (call) => call.end(),
  (name) => GrpcStreamCall('Talks', name),
);
const Fields = classOf(
  'Fields',
  () => 'handled',
  (name) => untyped(Query(() => String, { name, nullable: true })),
);
const Topics = classOf(
  'Topics',
  (_root, _args, _context, { fieldName }) => values(fieldName),
  (name) => untyped(Subscription(() => String, { name: `topic_${name}`, nullable: true })),
);
const Room = classOf(
  'Room',
  () => ({ event: 'said', data: 'handled' }),
  (name) => SubscribeMessage(name),
);
const Methods = classOf(
  'Methods',
  async () => 'handled',
  () => () => undefined,
);
for (const each of [Messages, Events, Unary, Streams, Requests, Calls, Talks]) Controller()(each);
for (const each of [Fields, Topics]) Resolver()(each);
WebSocketGateway()(Room);
Injectable()(Methods);

class HookedGuard extends RateLimitGuard {
  subjectOf() {
    return inPlace('subjectOf')();
  }
  shouldSkip() {
    return inPlace('shouldSkip')();
  }
  deny() {
    return inPlace('deny')();
  }
}
const guard = { provide: APP_GUARD, useClass: HookedGuard };

const limits = (name) =>
  RateLimitModule.forRoot({
    ...(redis && { redis, timeout: LONGEST_MS }),
    prefix: `${prefix}${name}:`,
    body: inPlace('body'),
    registerGuard: false,
  });

class AppModule {}
Module({
  imports: [
    limits('app'),
    GraphQLModule.forRoot({
      driver: ApolloDriver,
      autoSchemaFile: true,
      playground: false,
      subscriptions: { 'graphql-ws': true },
    }),
  ],
  controllers: [Messages, Events, Unary, Streams, Requests, Calls, Talks],
  providers: [
    Fields,
    Topics,
    Room,
    Methods,
    guard,
    ...connectionsOf((name) => ({ namespace: `connect_${name}` })),
  ],
})(AppModule);

class WsModule {}
Module({
  imports: [limits('ws')],
  providers: [Room, guard, ...connectionsOf((name) => ({ path: `/connect_${name}` }))],
})(WsModule);

const folder = mkdtempSync(join(tmpdir(), 'transports-'));
const protoPath = join(folder, 'cases.proto');
const serviceOf = (name, request, response) =>
  `service ${name} { ${methods.map((each) => `rpc ${each.name} (${request}) returns (${response});`).join(' ')} }`;
writeFileSync(
  protoPath,
  [
    'syntax = "proto3"; package cases; message Nothing {}',
    serviceOf('Unary', 'Nothing', 'Nothing'),
    serviceOf('Streams', 'Nothing', 'stream Nothing'),
    serviceOf('Requests', 'stream Nothing', 'Nothing'),
    serviceOf('Calls', 'stream Nothing', 'Nothing'),
    serviceOf('Talks', 'stream Nothing', 'stream Nothing'),
  ].join('\n'),
);

const app = await NestFactory.create(AppModule, { logger: false });
const tcpOptions = { transport: Transport.TCP, options: { host: '127.0.0.1', port: await freePort() } };
const url = `127.0.0.1:${await freePort()}`;
app.connectMicroservice(tcpOptions);
app.connectMicroservice({ transport: Transport.GRPC, options: { url, package: 'cases', protoPath } });
await app.startAllMicroservices();
await app.listen(0, '127.0.0.1');
const host = `127.0.0.1:${app.getHttpServer().address().port}`;

const ws = await NestFactory.create(WsModule, { logger: false });
ws.useWebSocketAdapter(new WsAdapter(ws));
await ws.listen(0, '127.0.0.1');
const wsHost = `127.0.0.1:${ws.getHttpServer().address().port}`;

for (const each of [app, ws]) {
  each.get(RateLimitEvents).on('decision', inPlace('decision'));
  each.get(RateLimitEvents).on('decision', inPlace('denied'), { only: 'denied' });
}

const tcp = ClientProxyFactory.create(tcpOptions);
await tcp.connect();
const { cases: grpc } = loadPackageDefinition(loadSync(protoPath, { keepCase: true }));
const clientOf = (name) => [name, new grpc[name](url, credentials.createInsecure())];
const clients = Object.fromEntries(GRPC.map(clientOf));
const socket = io(`http://${host}`, { transports: ['websocket'] });
const native = new WebSocket(`ws://${wsHost}`);
await Promise.all([
  new Promise((resolve) => socket.once('connect', resolve)),
  new Promise((resolve) => native.once('open', resolve)),
]);
const topics = createClient({ url: `ws://${host}/graphql`, webSocketImpl: WebSocket, lazy: false });

/** The calls of a method by transport. They resolve with `'handled'`, or with another response. */
const CALLS = {
  'GraphQL queries': async (name) => {
    const body = JSON.stringify({ query: `{ ${name} }` });
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(`http://${host}/graphql`, { method: 'POST', headers, body });
    const { data, errors } = await response.json();
    return data?.[name] ?? JSON.stringify(errors);
  },
  'GraphQL subscriptions': async (name) => {
    const results = topics.iterate({ query: `subscription { topic_${name} }` });
    try {
      for await (const { data, errors } of results) return data?.[`topic_${name}`] ?? JSON.stringify(errors);
      return 'ended';
    } catch (error) {
      return JSON.stringify(error);
    }
  },
  'messages of Socket.IO': (name) =>
    new Promise((resolve) => {
      socket.offAny();
      socket.onAny((_event, data) => resolve(data));
      socket.emit(name, '');
    }),
  'messages of ws': (name) =>
    new Promise((resolve) => {
      native.removeAllListeners('message');
      native.once('message', (text) => resolve(JSON.parse(text).data));
      native.send(JSON.stringify({ event: name, data: '' }));
    }),
  'connections of Socket.IO': (name) =>
    new Promise((resolve) => {
      const connection = io(`http://${host}/connect_${name}`, { transports: ['websocket'], forceNew: true });
      const end = (response) => {
        connection.disconnect();
        resolve(response);
      };
      connection.once('connect', () => end('handled'));
      connection.once('connect_error', ({ message }) => end(message));
    }),
  'connections of ws': (name) =>
    new Promise((resolve) => {
      const connection = new WebSocket(`ws://${wsHost}/connect_${name}`);
      connection.once('open', () => {
        connection.close();
        resolve('handled');
      });
      connection.once('error', ({ message }) => resolve(message));
    }),
  'messages of TCP': (name) => firstValueFrom(tcp.send(name, '')).catch((error) => JSON.stringify(error)),
  'events of TCP': async (name) => {
    await firstValueFrom(tcp.emit(`event:${name}`, ''), { defaultValue: undefined });
    return CALLS['messages of TCP']('free'); // the server reads it later
  },
  'calls of gRPC': (name) => called((done) => clients.Unary[name]({}, done)),
  'streams of gRPC': (name) => ended(clients.Streams[name]({})),
  'streams of requests of gRPC': (name) => called((done) => clients.Requests[name](done).end({})),
  'calls of gRPC that the handler ends': (name) => called((done) => clients.Calls[name](done).end({})),
  'duplex calls of gRPC that the handler ends': (name) => {
    const call = clients.Talks[name]();
    call.end({});
    return ended(call);
  },
  'calls of methods of providers': async (name) => {
    try {
      return await app.get(Methods)[name]();
    } catch (error) {
      return String(error?.message);
    }
  },
};

function called(call) {
  return new Promise((resolve) => call((error) => resolve(error?.message ?? 'handled')));
}

function ended(call) {
  return new Promise((resolve) => {
    call.on('data', () => undefined);
    call.on('error', ({ message }) => resolve(message));
    call.on('end', () => resolve('handled'));
  });
}

const answerTo = (call, name) => Promise.race([call(name), sleep(LONGEST_MS, 'no response', { ref: false })]);
const behaviours = Object.entries(BEHAVIOURS).filter(([behaviour]) => behaviour !== 'never settles');

async function findingsOf(call) {
  const findings = [];
  for (const place of Object.keys(places)) {
    for (const [behaviour, behave] of behaviours) {
      escaped = [];
      current = { place, behave };
      const answer = await answerTo(call, nameOf(place));
      await sleep(/later|foreign/.test(behaviour) ? 10 : 0);
      current = { place: '', behave: () => undefined };
      const problems = answer === 'no response' ? [...escaped, answer] : escaped;
      findings.push(...problems.map((problem) => `${place} ${behaviour}: ${problem}`));
    }
  }
  const free = await answerTo(call, 'free');
  return free === 'handled' ? findings : [...findings, `afterwards: ${free}`];
}

const report = {};
for (const [transport, call] of Object.entries(CALLS)) report[transport] = await findingsOf(call);
rmSync(folder, { recursive: true });
process.stdout.write(JSON.stringify(report), () => process.exit());
