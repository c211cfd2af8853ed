import { setTimeout as sleep } from 'node:timers/promises';
import type { AddressInfo, Server } from 'node:net';
import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { Client } from './client.js';

const SECONDS = 60;
const USERS = ['ada', 'alan', 'barbara', 'edsger', 'grace', 'ken', 'linus', 'margaret'];

/** Sends believable traffic to this application: clients that keep to the limits, and some that do not. */
@Injectable()
export class Traffic implements OnApplicationShutdown {
  private stopping: AbortController | undefined;

  constructor(@Inject(HttpAdapterHost) private readonly host: HttpAdapterHost) {}

  /** Starts a minute of traffic, unless it runs already. Returns a description. */
  start(): string {
    if (this.stopping) return 'The traffic is running.';
    this.stopping = new AbortController();
    const signal = AbortSignal.any([this.stopping.signal, AbortSignal.timeout(SECONDS * 1000)]);
    const clients = [...this.steady(), this.burst(), this.scraper(), this.guesser()];
    void Promise.all(clients.map(({ every, send }) => repeat(every, send, signal))).finally(
      () => (this.stopping = undefined),
    );
    return `A minute of traffic: ${USERS.length} steady clients, bursts, a scraper and a password guesser.`;
  }

  onApplicationShutdown(): void {
    this.stopping?.abort();
  }

  /** Users who search and now and then order something: within the limits. */
  private steady(): Sender[] {
    return USERS.flatMap((user, index) => {
      const client = this.client(`127.0.1.${index + 1}`, user);
      return [
        { every: 900 + 100 * index, send: () => client.send('GET', '/orders') },
        { every: 4000 + 300 * index, send: () => client.send('GET', '/search?q=tea') },
        { every: 15_000 + 1000 * index, send: () => client.send('POST', '/orders') },
      ];
    });
  }

  /** A job that requests twelve reports at once. */
  private burst(): Sender {
    const client = this.client('127.0.2.1');
    const reports = () => Promise.all(Array.from({ length: 12 }, () => client.send('GET', '/reports')));
    return { every: 9000, send: reports };
  }

  /** A scraper that reads one page after another, five times faster than the limit. */
  private scraper(): Sender {
    const client = this.client('127.0.3.1');
    let page = 0;
    return { every: 450, send: () => client.send('GET', `/search?q=t&page=${page++}`) };
  }

  /** A client that guesses a password each second. */
  private guesser(): Sender {
    const client = this.client('127.0.4.1');
    let guess = 0;
    return {
      every: 1000,
      send: () => client.send('POST', '/login', { user: 'ada', password: `${guess++}` }),
    };
  }

  private client(address: string, user?: string): Client {
    const { port } = (this.host.httpAdapter.getHttpServer() as Server).address() as AddressInfo;
    return new Client({ host: '127.0.0.1', port }, address, user);
  }
}

interface Sender {
  /** Mean of the milliseconds between two requests. */
  readonly every: number;
  readonly send: () => Promise<unknown>;
}

/** Sends requests at random times until the signal is aborted. */
async function repeat(every: number, send: Sender['send'], signal: AbortSignal): Promise<void> {
  const wait = (factor: number) =>
    sleep(every * factor, undefined, { signal, ref: false }).catch(() => undefined);
  await wait(Math.random());
  while (!signal.aborted) {
    await send();
    await wait(0.6 + 0.8 * Math.random());
  }
}
