import type { Redis } from 'ioredis';
import { openAdmin } from '../support/redis/ask-server.js';
import { startProxy, type Proxy } from '../support/redis/proxy.js';
import {
  startRedisServer,
  type RedisServer,
  type RedisServerOptions,
} from '../support/redis/redis-server.mjs';
import { until } from '../support/redis/until.mjs';
import { startApplication, type Application } from './started-application.js';

/** What a fault needs to be there. */
export interface Ground {
  readonly server?: RedisServerOptions;
  /** Whether the application reaches the server through a proxy. */
  readonly isProxied?: boolean;
  /** Whether the application's own clock decides, and not the server's. */
  readonly hasOwnClock?: boolean;
}

/** An application, its server, and the way between them. */
export interface Site {
  readonly application: Application;
  readonly server: RedisServer;
  /** What the server is reached through, if so. */
  readonly proxy: Proxy;
  /** A connection to the server that was there before the fault. */
  readonly admin: Redis;
  /** Calls back when the site is closed. */
  whenClosed(callback: () => Promise<unknown>): void;
  close(): Promise<void>;
}

export async function openSite({ server: options, isProxied, hasOwnClock }: Ground): Promise<Site> {
  const closing: (() => unknown)[] = [];
  const whenClosed = (callback: () => unknown): void => void closing.unshift(callback);
  const close = async (): Promise<void> => {
    for (const callback of closing) await callback();
  };
  try {
    const server = await startRedisServer(options);
    whenClosed(() => server.stop());
    const proxy = await startProxy(server);
    whenClosed(() => proxy.close());
    const admin = openAdmin(server);
    whenClosed(() => admin.disconnect());
    const application = await startApplication(isProxied ? proxy.url : server.url, hasOwnClock);
    whenClosed(async () => {
      await application.kill();
      proxy.each((connection) => connection.resume()); // One that is stalled would not notice.
      await until(() => proxy.connections.length === 0, 'its connections to be gone');
    });
    return { application, server, proxy, admin, whenClosed, close };
  } catch (error) {
    await close();
    throw error;
  }
}
