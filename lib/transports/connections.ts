import {
  ForbiddenException,
  HttpException,
  InternalServerErrorException,
  Logger,
  type Type,
} from '@nestjs/common';
import type { ModulesContainer } from '@nestjs/core';
import { Observable } from 'rxjs';
import { onAbort } from '../contracts/timer.js';
import type { Connection } from '../http/response-end.js';
import type { Guards } from '../nest/startup/guards.js';
import { classes } from '../nest/startup/handlers.js';
import { HANDLER_INTERCEPTOR } from '../nest/handler-interceptor.js';
import { attach, type Denied } from './handshake-servers.js';
import { connectingHeaders, connectionEnd, type SocketClient } from './ws.js';
import { CallContext } from './calls.js';

/** A gateway, as Nest calls it with its server. */
interface Gateway {
  afterInit?: AfterInit;
}
type AfterInit = ((this: object, server: unknown) => unknown) & { [OWNERS]?: Set<Connections> };

/** On the `afterInit` of a class whose connections are limited: the applications that it is part of. */
const OWNERS = Symbol.for('nestjs-redis-rate-limit:connections');

/**
 * Limits the connections to gateways whose `handleConnection` has rules, in the handshake: a denied client never becomes
 * a socket of the gateway. Nest passes the server of a gateway to its `afterInit` only.
 */
export class Connections {
  private readonly logger = new Logger('RateLimit');
  private readonly problems: string[] = [];
  private readonly attached = new WeakSet();
  private readonly owned: Set<Connections>[] = [];
  /** Decides the clients that wait: a gateway with a port of its own listens before the rules are compiled. */
  start!: () => void;
  private readonly started = new Promise<void>((resolve) => (this.start = resolve));

  constructor(
    private readonly guards: Guards,
    private readonly modules: ModulesContainer,
  ) {}

  /** Limits the connections to the instances of a class, before Nest creates their servers. */
  limit(type: Type): void {
    const prototype = type.prototype as Gateway;
    const owners = prototype.afterInit?.[OWNERS] ?? follow(prototype);
    owners.add(this);
    this.owned.push(owners);
  }

  /** Returns why the connections to gateways cannot be limited. */
  problemsOfGateways(): readonly string[] {
    for (const { instance: gateway, isController } of classes(this.modules)) {
      if (isController || !Object.hasOwn(gateway, 'afterInit')) continue;
      const { afterInit } = Object.getPrototypeOf(gateway) as Gateway;
      if (!this.owned.some((each) => each === afterInit?.[OWNERS])) continue;
      this.problems.push(
        `@RateLimit on ${gateway.constructor.name}.handleConnection: afterInit is a property, which hides its server; write afterInit as a method`,
      );
    }
    return this.problems;
  }

  stop(): void {
    for (const owners of this.owned) owners.delete(this);
  }

  /** Limits the connections to a server, if the gateway is one of this application. */
  follow(gateway: object, server: unknown): void {
    const isOwn = [...classes(this.modules)].some(({ instance }) => instance === gateway);
    if (this.attached.has(gateway) || !isOwn) return;
    this.attached.add(gateway);
    const type = gateway.constructor as Type;
    const problem = attach(server, (client) => this.check(type, client));
    if (problem) this.problems.push(`@RateLimit on ${type.name}.handleConnection: ${problem}`);
  }

  /** Returns why a client is denied; `undefined` if it is allowed. */
  private async check(type: Type, client: SocketClient): Promise<Denied | undefined> {
    try {
      await this.started;
      await this.admit(type, client);
      return undefined;
    } catch (error) {
      const exception = this.answerOf(error);
      const { contentType } = exception as { readonly contentType?: unknown };
      const type = typeof contentType === 'string' ? contentType : 'application/json';
      const headers = Object.fromEntries(connectingHeaders.get(client) ?? []);
      return { exception, headers: { ...headers, 'Content-Type': type } };
    }
  }

  /** Returns an exception whose body can be sent. */
  private answerOf(error: unknown): HttpException {
    try {
      if (error instanceof HttpException && JSON.stringify(error.getResponse())) return error;
      this.logger.error('The rules of a connection failed.', error);
    } catch (unsendable) {
      this.logger.error('The body of a denied connection cannot be sent.', unsendable);
    }
    return new InternalServerErrorException();
  }

  /** A connection is a request that ends when the client disconnects. */
  private async admit(type: Type, client: SocketClient): Promise<void> {
    const { handleConnection } = type.prototype as { readonly handleConnection: unknown };
    const context = new CallContext('ws', type, handleConnection, [client]);
    if (!(await this.guards.any.canActivate(context))) throw new ForbiddenException();
    await new Promise<void>((resolve, reject) => {
      const handle = (): Observable<never> => {
        resolve();
        return untilClosed(client);
      };
      const handled = HANDLER_INTERCEPTOR.intercept(context, { handle }) as Observable<never>;
      handled.subscribe({ error: reject });
    });
  }
}

/** Replaces the `afterInit` of a class. Returns the applications that get its servers. */
function follow(prototype: Gateway): Set<Connections> {
  const { afterInit } = prototype;
  const owners = new Set<Connections>();
  const followed: AfterInit = function (server) {
    for (const owner of owners) owner.follow(this, server);
    return afterInit?.call(this, server);
  };
  followed[OWNERS] = owners;
  Object.defineProperty(prototype, 'afterInit', { value: followed, configurable: true, writable: true });
  return owners;
}

/** Completes when a client has disconnected: one of Socket.IO may leave a namespace and keep its transport for others. */
function untilClosed(client: SocketClient & Partial<Connection>): Observable<never> {
  return new Observable((subscriber) => {
    const close = (): void => subscriber.complete();
    const end = connectionEnd(client);
    const stop = end && onAbort(end, close);
    if (!end || end.aborted) close();
    client.once?.('disconnect', close);
    // Socket.IO emits no event for a client that a middleware denies after this one.
    const cleanUp = client._cleanup?.bind(client);
    if (cleanUp) {
      client._cleanup = () => {
        cleanUp();
        close();
      };
    }
    return stop;
  });
}
