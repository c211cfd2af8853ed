// An app with one route and what a contestant puts in front of it; a process of its own, which tells its
// parent over IPC the port that it listens on, and later what it has used.
//
//   started by app-process.mjs: app.mjs <platform> <contestant> [redis url]
import 'reflect-metadata';
import { Controller, Get, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { CONTESTANTS } from './contestants.mjs';
import { LIMITERS } from './limiters.mjs';
import { startProfile, stopProfile } from './profiler.mjs';

const [platform, name, redis] = process.argv.slice(2);

/** One proxy in front, as in most deployments: it tells who the client is. */
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

/** Microseconds of CPU that the process has used so far, with the requests that it has had. */
function usage() {
  const { user, system } = process.cpuUsage();
  return { cpu: user + system, requests, at: performance.now() };
}

let requests = 0;
const answers = { usage, startProfile, stopProfile };
// Its parent may be gone before it has come so far.
if (!process.connected) process.exit();
process.on('disconnect', () => process.exit());
process.on('message', async (question) => process.send((await answers[question]()) ?? {}));

const server = (await createApp()).getHttpServer();
server.on('request', () => (requests += 1));
process.send({ port: server.address().port });
