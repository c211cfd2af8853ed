// An application with one route and the limiter of a contestant, in a separate process. It sends its port to its parent over IPC, and later its CPU time.
//
//   started by app-process.mjs: app.mjs <platform> <contestant> [redis url]
import 'reflect-metadata';
import { Controller, Get, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { CONTESTANTS } from './contestants.mjs';
import { LIMITERS } from './limiters.mjs';
import { startProfile, stopProfile } from './profiler.mjs';

const [platform, name, redis] = process.argv.slice(2);

/** One trusted proxy, as in most deployments: its header contains the client's address. */
const isProxy = (_address, hop) => hop === 0;

class HelloController {
  hello() {
    return { hello: 'world' };
  }
}
const { prototype } = HelloController;
Get('hello')(prototype, 'hello', Object.getOwnPropertyDescriptor(prototype, 'hello'));
Controller()(HelloController);

class AppModule {}

async function adapter() {
  if (platform === 'fastify') {
    const { FastifyAdapter } = await import('@nestjs/platform-fastify');
    return new FastifyAdapter({ trustProxy: isProxy });
  }
  const { ExpressAdapter } = await import('@nestjs/platform-express');
  const express = new ExpressAdapter();
  express.set('trust proxy', isProxy);
  return express;
}

async function createApp() {
  const contestant = CONTESTANTS.find((each) => each.name === name);
  const { imports = [], providers = [], middleware } = await LIMITERS[contestant.limiter](contestant, redis);
  Module({ imports, providers, controllers: [HelloController] })(AppModule);
  const app = await NestFactory.create(AppModule, await adapter(), { logger: false });
  if (middleware) app.use(middleware);
  await app.listen(0, '127.0.0.1');
  return app;
}

/** CPU time of the process so far in microseconds, and the number of its requests. */
function usage() {
  const { user, system } = process.cpuUsage();
  return { cpu: user + system, requests, at: performance.now() };
}

let requests = 0;
const answers = { usage, startProfile, stopProfile };
// The parent may have ended before the application was ready.
if (!process.connected) process.exit();
process.on('disconnect', () => process.exit());
process.on('message', async (question) => process.send((await answers[question]()) ?? {}));

const server = (await createApp()).getHttpServer();
server.on('request', () => (requests += 1));
process.send({ port: server.address().port });
