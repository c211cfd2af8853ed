import type { AddressInfo } from 'node:net';
import type { Server } from 'node:http';
import type { INestApplication, ModuleMetadata } from '@nestjs/common';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { Test, type TestingModuleBuilder } from '@nestjs/testing';
import { RATE_LIMIT_STORE } from '../../lib/index.js';
import type { Store } from '../../lib/store.js';
import { send, type Answer, type Question } from './http-client.js';
import { LogLines } from './log-lines.js';
import { STORES } from './virtual-store.js';

export const FRAMEWORKS = ['express', 'fastify'] as const;
export type Framework = (typeof FRAMEWORKS)[number];

/** Every framework with every store, for `describe.each`. */
export const SETUPS = FRAMEWORKS.flatMap((framework) => STORES.map((kind) => ({ framework, kind })));

export interface AppSetup {
  readonly framework: Framework;
  /** Replaces the module's store. It is closed with the application. */
  readonly store?: Store;
  /**
   * The proxies that the framework trusts; with `true`, a test can be any client.
   *
   * @default false
   */
  readonly trustProxy?: boolean | string | string[] | number | ((address: string, hop: number) => boolean);
  /** Listens on a Unix socket at this path instead of a port. */
  readonly socketPath?: string;
  /** Overrides providers before the application is created. */
  readonly prepare?: (builder: TestingModuleBuilder) => TestingModuleBuilder;
  /** Changes the application before it starts. */
  readonly configure?: (app: INestApplication) => void;
}

/** An application that listens on a free port of 127.0.0.1. */
export interface TestApp {
  readonly app: INestApplication;
  readonly logs: LogLines;
  readonly port: number;
  send(question: Question): Promise<Answer>;
  get(path: string, headers?: Question['headers']): Promise<Answer>;
  /** Sends a GET request as the client with an IP address, for an application that trusts proxies. */
  getFrom(ip: string, path: string): Promise<Answer>;
  close(): Promise<void>;
}

/** The types of Fastify do not allow a number of hops, and Fastify trusts no proxy with one. */
type FastifyTrust = Exclude<NonNullable<AppSetup['trustProxy']>, number>;

/** Fastify with options that accept the forms of a URL that Express accepts by default, and more. */
const LENIENT = { ignoreTrailingSlash: true, ignoreDuplicateSlashes: true, caseSensitive: false };

const running = new Set<INestApplication>();

export async function startApp(metadata: ModuleMetadata, setup: AppSetup): Promise<TestApp> {
  const logs = new LogLines();
  const app = await createApp(metadata, setup, logs);
  setup.configure?.(app);
  const port = await listen(app, setup.socketPath);
  running.add(app);
  const to = setup.socketPath ?? port;
  const get: TestApp['get'] = (path, headers = {}) => send(to, { path, headers });
  return {
    app,
    logs,
    port,
    get,
    send: (question) => send(to, question),
    getFrom: (ip, path) => get(path, { 'x-forwarded-for': ip }),
    close: () => closeOnce(app),
  };
}

/** Starts the server. Returns the port, or 0 for a Unix socket. */
async function listen(app: INestApplication, socketPath?: string): Promise<number> {
  if (socketPath === undefined) {
    await app.listen(0, '127.0.0.1');
    return ((app.getHttpServer() as Server).address() as AddressInfo).port;
  }
  await app.init();
  const instance: unknown = app.getHttpAdapter().getInstance();
  if (app.getHttpAdapter().getType() === 'fastify') {
    await (instance as { listen(options: { path: string }): Promise<string> }).listen({ path: socketPath });
  } else {
    await new Promise<void>((resolve) => (app.getHttpServer() as Server).listen(socketPath, resolve));
  }
  return 0;
}

/** Closes every application that is still open: for `afterEach`. */
export async function closeApps(): Promise<void> {
  await Promise.all([...running].map(closeOnce));
}

async function closeOnce(app: INestApplication): Promise<void> {
  if (running.delete(app)) await app.close();
}

/** Returns the error message with which an application of these parts does not start. */
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
    return module.createNestApplication(
      new FastifyAdapter({
        trustProxy: trustProxy as FastifyTrust,
        routerOptions: LENIENT,
      }),
    );
  }
  const adapter = new ExpressAdapter();
  adapter.set('trust proxy', trustProxy);
  return module.createNestApplication(adapter);
}
