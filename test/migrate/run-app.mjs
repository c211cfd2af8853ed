// Prints the status codes of requests to a compiled application, with the message in the body of a 429.
//
//   node run-app.mjs app.module.js '[["/orders", { "x-tenant": "a" }]]'
import 'reflect-metadata';
import { pathToFileURL } from 'node:url';
import { NestFactory } from '@nestjs/core';

const [file, requests] = process.argv.slice(2);
const { AppModule } = await import(pathToFileURL(file).href);
const app = await NestFactory.create(AppModule, { logger: ['error', 'fatal'] });
await app.listen(0, '127.0.0.1');
const url = await app.getUrl();
const answers = [];
for (const [path, headers = {}] of JSON.parse(requests)) {
  const response = await fetch(`${url}${path}`, { headers });
  const body = await response.text();
  if (path.startsWith('/graphql')) answers.push([path, body.includes('"errors"') ? 429 : response.status]);
  else
    answers.push(response.status === 429 ? [path, 429, JSON.parse(body).message] : [path, response.status]);
}
console.log(JSON.stringify(answers));
await app.close();
