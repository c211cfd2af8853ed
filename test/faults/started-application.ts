import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { until } from '../support/redis/until.mjs';
import type { Figures, Rest, Shutdown } from './figures.js';

const program = fileURLToPath(new URL('application.mjs', import.meta.url));

/** Number of hits in flight at any time. */
export const IN_FLIGHT = 16;

/** Starts application.mjs on a server and waits for its connection. */
export async function startApplication(url: string, hasOwnClock = false): Promise<Application> {
  const options = JSON.stringify({ url, hasOwnClock, inFlight: IN_FLIGHT });
  const child = fork(program, [options], { execArgv: ['--expose-gc'] });
  await Promise.race([once(child, 'message'), exitOf(child)]);
  return new Application(child);
}

/** The application, as seen by the process that causes the faults. */
export class Application {
  private readonly exited: Promise<unknown>;

  constructor(private readonly child: ChildProcess) {
    this.exited = exitOf(child);
    this.exited.catch(() => undefined); // The next call gets the error.
  }

  get pid(): number {
    return this.child.pid!;
  }

  start = (): Promise<void> => this.ask('start');
  /** Assigns hits that begin from now on to this phase. */
  begin = (phase: string): Promise<void> => this.ask('phase', phase);
  /** Sets the error of its clock in milliseconds. */
  step = (milliseconds: number): Promise<void> => this.ask('step', milliseconds);
  figures = (): Promise<Figures> => this.ask('figures');
  tallies = (): Promise<Record<string, number>> => this.ask('tallies');
  /** Stops the load and returns the handles and the heap after it. */
  rest = (): Promise<Rest> => this.ask('rest');

  /** Closes limiter and store under load. Resolves when the process has exited without being killed. */
  async shutDown(): Promise<Shutdown> {
    const ended = once(this.child, 'exit');
    const told = await this.ask<Shutdown>('shutDown');
    const [code] = await ended;
    return { ...told, code };
  }

  /** Waits until the figures meet a condition. */
  async until(isSo: (figures: Figures) => boolean, what: string, timeoutMs?: number): Promise<void> {
    await until(async () => isSo(await this.figures()), what, timeoutMs);
  }

  async more(hits: number): Promise<void> {
    const { asked } = (await this.figures()).phases['during']!;
    await this.until(({ phases }) => phases['during']!.asked > asked + hits, 'more hits');
  }

  async kill(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    this.child.kill('SIGKILL');
    await once(this.child, 'exit');
  }

  private async ask<Answer>(command: string, value?: unknown): Promise<Answer> {
    const answered = once(this.child, 'message');
    this.child.send({ command, value });
    const [message] = (await Promise.race([answered, this.exited])) as [{ answer: Answer }];
    return message.answer;
  }
}

/** Rejects when the process ends, for example because of an unhandled rejection. */
async function exitOf(child: ChildProcess): Promise<never> {
  const [code, signal] = await once(child, 'exit');
  throw new Error(`The application ended (${String(code ?? signal)}); its reason stands above`);
}
