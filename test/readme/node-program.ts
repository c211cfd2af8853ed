import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { pathOf } from './code-blocks.js';

/** A Node program that runs beside the spec. */
export interface NodeProgram {
  /** Its process id. */
  readonly pid: number;
  /** Its output so far. */
  printed(): string;
  /**
   * Waits for an output that matches a pattern, and returns the match.
   *
   * @throws if the program ends before
   */
  said(pattern: RegExp): Promise<RegExpExecArray>;
  /** Waits until it has ended, and returns its exit code, `null` if a signal ended it. */
  ended: Promise<number | null>;
  /** Ends it at once, without a chance to clean up. */
  kill(): void;
  /** Interrupts it, as Ctrl-C does, and waits for its end. */
  stop(): Promise<void>;
}

const running = new Set<NodeProgram>();

/**
 * Runs a built file of the repository.
 *
 * @param variables added to an environment without settings of the developer
 * @throws if the file is not built
 */
export function runProgram(
  file: string,
  variables: Readonly<Record<string, string>> = {},
  args: readonly string[] = [],
): NodeProgram {
  if (!existsSync(pathOf(file))) {
    throw new Error(`${file} is not there: run "npm run build" and "npx nest build" first`);
  }
  const { PATH, HOME } = process.env;
  const env = { PATH, HOME, NO_COLOR: '1', ...variables };
  const child = spawn(process.execPath, [pathOf(file), ...args], {
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
    pid: child.pid!,
    ended,
    kill: () => child.kill('SIGKILL'),
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

/** Stops every program that is still running: for `afterEach`. */
export async function stopPrograms(): Promise<void> {
  await Promise.all([...running].map((program) => program.stop()));
}
