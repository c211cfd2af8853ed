import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { Agent, request, type RequestOptions } from 'node:http';
import { fileURLToPath } from 'node:url';
import { outsideJest } from '../packaging/run-command.js';

export type Sent = RequestOptions & { readonly body?: string };

const program = fileURLToPath(new URL('kept-strings-app.mjs', import.meta.url));

/** The application of kept-strings-app.mjs, in a process with little heap. */
export class SmallProcess {
  private readonly agent = new Agent({ keepAlive: true, maxSockets: 16 });

  private constructor(
    private readonly child: ChildProcess,
    private readonly exited: Promise<never>,
    private readonly port: number,
  ) {}

  static async start(heapMb: number, variables: NodeJS.ProcessEnv): Promise<SmallProcess> {
    const child = fork(program, {
      execArgv: ['--expose-gc', `--max-old-space-size=${heapMb}`],
      env: { ...outsideJest(), ...variables },
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    const exited = once(child, 'exit').then(([code, signal]) => {
      throw new Error(`The application has ended: ${code ?? signal}`);
    });
    exited.catch(() => undefined);
    const [{ port }] = (await Promise.race([once(child, 'message'), exited])) as [{ port: number }];
    return new SmallProcess(child, exited, port);
  }

  /** Sends a request, and returns the status of its response. */
  send({ body, ...options }: Sent): Promise<number> {
    const answered = new Promise<number>((resolve, reject) => {
      const to = { host: '127.0.0.1', port: this.port, agent: this.agent };
      const sent = request({ ...options, ...to }, (response) => {
        response.resume().once('end', () => resolve(response.statusCode!));
      });
      sent.on('error', reject).end(body);
    });
    return Promise.race([answered, this.exited]);
  }

  /** Sends a request on a separate connection, which it can close at any time. */
  begin(path: string): { hangUp(): void } {
    const opened = request({ host: '127.0.0.1', port: this.port, path, agent: false });
    opened.on('error', () => undefined).end();
    return { hangUp: () => opened.destroy() };
  }

  /** Returns the heap after a garbage collection. */
  async heapMb(): Promise<number> {
    return (await this.figure('heap')) / 1e6;
  }

  /** Returns the number of requests without a response. */
  open(): Promise<number> {
    return this.figure('open');
  }

  private async figure(name: 'heap' | 'open'): Promise<number> {
    const message = once(this.child, 'message');
    this.child.send(name);
    const [figure] = (await Promise.race([message, this.exited])) as [number];
    return figure;
  }

  async stop(): Promise<void> {
    this.agent.destroy();
    if (this.child.connected) this.child.disconnect();
    await this.exited.catch(() => undefined);
  }
}
