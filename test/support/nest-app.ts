import type { AddressInfo } from 'node:net';
import type { Server } from 'node:http';
import type { INestApplication, ModuleMetadata } from '@nestjs/common';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { Test, type TestingModuleBuilder } from '@nestjs/testing';
import { RATE_LIMIT_STORE, type Store } from '../../lib/index.js';
import { send, type Answer, type Question } from './http-client.js';
import { LogLines } from './log-lines.js';
import { STORES } from './virtual-store.js';

export const FRAMEWORKS = ['express', 'fastify'] as const;
export type Framework = (typeof FRAMEWORKS)[number];

/** Every framework with every store, for `describe.each`. */
export const SETUPS = FRAMEWORKS.flatMap((framework) => STORES.map((kind) => ({ framework, kind })));

export interface AppSetup {
  readonly framework: Framework;
  /** Stands in for the module's store, which closes with the app. */
  readonly store?: Store;
  /** Believe `X-Forwarded-For`, so that a test can be any client. @default false */
  readonly trustProxy?: boolean;
  /** Overrides providers before the app is made. */
  readonly prepare?: (builder: TestingModuleBuilder) => TestingModuleBuilder;
  /** Changes the app before it starts. */
  readonly configure?: (app: INestApplication) => void;
}

/** An app that listens on a free port of 127.0.0.1. */
export interface TestApp {
  readonly app: INestApplication;
  readonly logs: LogLines;
  readonly port: number;
  send(question: Question): Promise<Answer>;
  get(path: string, headers?: Question['headers']): Promise<Answer>;
  /** Gets as the client of an IP address, for an app that trusts proxies. */
  getFrom(ip: string, path: string): Promise<Answer>;
  close(): Promise<void>;
}

/** Fastify told to take the spellings of a URL that Express takes by itself, and more. */
const LENIENT = { ignoreTrailingSlash: true, ignoreDuplicateSlashes: true, caseSensitive: false };

const running = new Set<INestApplication>();

export async function startApp(metadata: ModuleMetadata, setup: AppSetup): Promise<TestApp> {
  const logs = new LogLines();
  const app = await createApp(metadata, setup, logs);
  setup.configure?.(app);
  await app.listen(0, '127.0.0.1');
  running.add(app);
  const { port } = (app.getHttpServer() as Server).address() as AddressInfo;
  const get: TestApp['get'] = (path, headers = {}) => send(port, { path, headers });
  return {
    app,
    logs,
    port,
    get,
    send: (question) => send(port, question),
    getFrom: (ip, path) => get(path, { 'x-forwarded-for': ip }),
    close: () => closeOnce(app),
  };
}

/** Closes every app that the test has started and not closed: for `afterEach`. */
export async function closeApps(): Promise<void> {
  await Promise.all([...running].map(closeOnce));
}

async function closeOnce(app: INestApplication): Promise<void> {
  if (running.delete(app)) await app.close();
}

/** The message with which an app of these parts refuses to start. */
export async function refusalToStart(metadata: ModuleMetadata): Promise<string> {
  try {
    await startApp(metadata, { framework: 'express' });
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error('the app started');
}

async function createApp(
  metadata: ModuleMetadata,
  { framework, store, trustProxy = false, prepare }: AppSetup,
  logs: LogLines,
): Promise<INestApplication> {
  let builder = Test.createTestingModule(metadata).setLogger(logs);
  if (store) builder = builder.overrideProvider(RATE_LIMIT_STORE).useValue(store);
  const module = await (prepare?.(builder) ?? builder).compile();
  if (framework === 'fastify') {
    return module.createNestApplication(new FastifyAdapter({ trustProxy, routerOptions: LENIENT }));
  }
  const adapter = new ExpressAdapter();
  adapter.set('trust proxy', trustProxy);
  return module.createNestApplication(adapter);
}
