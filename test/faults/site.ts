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

/** What a fault requires of its site. */
export interface Ground {
  readonly server?: RedisServerOptions;
  /** Whether the application connects to the server through a proxy. */
  readonly isProxied?: boolean;
  /** Whether the application's own clock decides instead of the server's. */
  readonly hasOwnClock?: boolean;
}

/** A server, and how to connect to it. */
export interface Place {
  readonly server: RedisServer;
  /** A proxy in front of the server. */
  readonly proxy: Proxy;
  /** The URL of the server, or of the proxy if the fault needs one. */
  readonly url: string;
  /** A connection to the server that was opened before the fault. */
  readonly admin: Redis;
  /** Registers a function that is called when the site is closed. */
  whenClosed(callback: () => Promise<unknown>): void;
  close(): Promise<void>;
}

/** A program that sends requests on a site. */
export interface Load {
  /** Sets the error of its clock in milliseconds. */
  step(milliseconds: number): Promise<void>;
  /** Waits for a number of further requests. */
  more(requests: number): Promise<void>;
}

/** An application, its server, and the proxy between them. */
export interface Site<Running extends Load = Load> extends Place {
  readonly application: Running;
}

/** Starts a server and a proxy in front of it. */
export async function openPlace({ server: options, isProxied }: Ground): Promise<Place> {
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
    return { server, proxy, admin, url: isProxied ? proxy.url : server.url, whenClosed, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Starts an application on a separate server. */
export async function openSite(ground: Ground): Promise<Site<Application>> {
  const place = await openPlace(ground);
  try {
    const application = await startApplication(place.url, ground.hasOwnClock);
    closeWith(place, application);
    return { ...place, application };
  } catch (error) {
    await place.close();
    throw error;
  }
}

/** Kills an application when its site is closed, and waits until its connections are closed. */
export function closeWith({ proxy, whenClosed }: Place, application: { kill(): Promise<void> }): void {
  whenClosed(async () => {
    await application.kill();
    proxy.each((connection) => connection.resume()); // A stalled connection would not be closed.
    await until(() => proxy.connections.length === 0, 'its connections to be gone');
  });
}
