import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { pathOf } from './code-blocks.js';

/** A Node program that runs beside the spec. */
export interface NodeProgram {
  /** Everything that it has printed so far. */
  printed(): string;
  /** Waits until it has printed something, and gives the match. @throws if it ends before */
  said(pattern: RegExp): Promise<RegExpExecArray>;
  /** Waits until it has ended, and gives its exit code, `null` if a signal ended it. */
  ended: Promise<number | null>;
  /** Asks it to end, as Ctrl-C does, and waits. */
  stop(): Promise<void>;
}

const running = new Set<NodeProgram>();

/**
 * Runs a built file of the repository.
 *
 * @param variables on top of an environment that has no settings of the developer's own
 * @throws if it has not been built
 */
export function runProgram(file: string, variables: Readonly<Record<string, string>> = {}): NodeProgram {
  if (!existsSync(pathOf(file))) {
    throw new Error(`${file} is not there: run "npm run build" and "npx nest build sample-app" first`);
  }
  const { PATH, HOME } = process.env;
  const env = { PATH, HOME, NO_COLOR: '1', ...variables };
  const child = spawn(process.execPath, [pathOf(file)], {
    cwd: pathOf('.'),
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  }
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  const program: NodeProgram = {
    ended,
    printed: () => output,
    said: (pattern) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          const match = pattern.exec(output);
          if (match) resolve(match);
        };
        look();
        child.stdout.on('data', look);
        void ended.then(() =>
          reject(new Error(`${file} ended without saying ${String(pattern)}:\n${output}`)),
        );
      }),
    stop: async () => {
      child.kill('SIGINT');
      await ended;
      running.delete(program);
    },
  };
  running.add(program);
  return program;
}

/** Ends every program that the spec has left running: for `afterEach`. */
export async function stopPrograms(): Promise<void> {
  await Promise.all([...running].map((program) => program.stop()));
}

/** A port that nobody listens on, for a program that does not tell which one it was given. */
export function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}
