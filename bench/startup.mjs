// Measures the user CPU time in which a process loads the package with require, and starts an application with it, beside
// @nestjs/throttler and an application without either. Each measurement is a process of its own; they take turns, so that
// other load on the machine affects all of them alike. Prints medians, and how many times as long as throttler the package
// takes to load.
//
//   node bench/startup.mjs [runs]
import { execFileSync } from 'node:child_process';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const runs = Number(process.argv[2] ?? 15);

const MODULES = {
  none: ['', '[]'],
  throttler: [
    "const { ThrottlerModule, ThrottlerGuard } = require('@nestjs/throttler');",
    '[ThrottlerModule.forRoot([{ ttl: 60000, limit: 100 }])]',
  ],
  ours: [
    "const { RateLimitModule } = require('./dist/cjs/index.js');",
    "[RateLimitModule.forRoot({ rules: { default: { window: '1m', limit: 100 } } })]",
  ],
};

function program([load, imports]) {
  const guard = load.includes('Throttler') ? '[{ provide: APP_GUARD, useClass: ThrottlerGuard }]' : '[]';
  return `
    require('reflect-metadata');
    const { Controller, Get, Module } = require('@nestjs/common');
    const { APP_GUARD, NestFactory } = require('@nestjs/core');
    require('@nestjs/platform-express');
    const user = () => process.cpuUsage().user / 1000;
    const at = [user()];
    ${load}
    at.push(user());
    class Routes { get() {} }
    Controller()(Routes);
    Get()(Routes.prototype, 'get', Object.getOwnPropertyDescriptor(Routes.prototype, 'get'));
    class App {}
    Module({ imports: ${imports}, controllers: [Routes], providers: ${guard} })(App);
    (async () => {
      const app = await NestFactory.create(App, { logger: false });
      await app.listen(0, '127.0.0.1');
      at.push(user());
      console.log(JSON.stringify([at[1] - at[0], at[2] - at[1]]));
      await app.close();
    })();`;
}

const times = Object.fromEntries(Object.keys(MODULES).map((name) => [name, []]));
for (let nth = 0; nth < runs; nth++) {
  for (const [name, parts] of Object.entries(MODULES)) {
    const options = { cwd: root, encoding: 'utf8' };
    times[name].push(JSON.parse(execFileSync(process.execPath, ['--eval', program(parts)], options)));
  }
}

const median = (name, index) => times[name].map((each) => each[index]).toSorted((a, b) => a - b)[runs >> 1];
console.log(`milliseconds of user CPU: median of ${runs}`);
for (const name of Object.keys(MODULES)) {
  const [load, start] = [0, 1].map((index) => median(name, index).toFixed(1).padStart(6));
  console.log(`${name.padEnd(10)} load ${load}   start ${start}`);
}
console.log(`load: ${(median('ours', 0) / median('throttler', 0)).toFixed(2)} x @nestjs/throttler`);
