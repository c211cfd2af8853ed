// Prints the status codes of two requests to an application that takes the decorator from one build and the module
// from the other.
//
//   node two-builds.mjs esm cjs
import 'reflect-metadata';
import { createRequire } from 'node:module';
import { Controller, Get, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';

const require = createRequire(import.meta.url);
const builds = {
  esm: await import('../../dist/esm/index.js'),
  cjs: require('../../dist/cjs/index.js'),
};
const [decorators, modules] = process.argv.slice(2).map((name) => builds[name]);

class Routes {
  get() {
    return '';
  }
}
const get = Object.getOwnPropertyDescriptor(Routes.prototype, 'get');
Controller()(Routes);
Get()(Routes.prototype, 'get', get);
decorators.RateLimit({ window: '1h', limit: 1 })(Routes.prototype, 'get', get);

class App {}
Module({ imports: [modules.RateLimitModule.forRoot({})], controllers: [Routes] })(App);

const app = await NestFactory.create(App, { logger: false });
await app.listen(0, '127.0.0.1');
const statuses = [];
for (let nth = 0; nth < 2; nth++) statuses.push((await fetch(await app.getUrl())).status);
await app.close();
console.log(JSON.stringify(statuses));
