import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { outsideJest } from '../packaging/run-command.js';
import type { Framework } from '../support/nest-app.js';

/** Figures by name. */
export type Said = Readonly<Record<string, number>>;

const program = fileURLToPath(new URL('limited-app.mjs', import.meta.url));
const running = new Set<ClosingApp>();

/** The process of an application with the built package, which closes on request. */
export class ClosingApp {
  port = 0;
  private readonly lines: AsyncIterator<string>;
  private readonly ended: Promise<unknown[]>;

  private constructor(private readonly child: ChildProcessByStdio<null, Readable, null>) {
    this.lines = createInterface(child.stdout)[Symbol.asyncIterator]();
    this.ended = once(child, 'exit');
  }

  /** Stops the processes that are still running: for `afterEach`. */
  static async killAll(): Promise<void> {
    for (const app of running) {
      app.child.kill('SIGKILL');
      await app.ended;
      running.delete(app);
    }
  }

  static async start(framework: Framework, redisUrl: string): Promise<ClosingApp> {
    const env = { ...outsideJest(), REDIS_URL: redisUrl, FRAMEWORK: framework };
    const child = spawn(process.execPath, [program], { env, stdio: ['ignore', 'pipe', 'inherit'] });
    const app = new ClosingApp(child);
    running.add(app);
    app.port = (await app.says())['port']!;
    return app;
  }

  /** Returns the next message of the process. */
  async says(): Promise<Said> {
    const { done, value } = await this.lines.next();
    if (done) throw new Error('The app has ended; its reason stands above');
    return JSON.parse(value) as Said;
  }

  /** Requests the shutdown. Returns the exit code and the figures about its requests. */
  async close(): Promise<{ code: unknown; said: Said }> {
    this.child.kill('SIGINT');
    const said = await this.says();
    const [code] = await this.ended;
    running.delete(this);
    return { code, said };
  }
}
