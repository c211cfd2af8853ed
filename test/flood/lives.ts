import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { ConcurrencyRule, Rule } from '../../lib/index.js';

/** The options of each process. */
export interface Task {
  readonly url: string;
  readonly prefix: string;
  /** The rules, one of which is used for each subject in turn. */
  readonly rules: readonly Rule[];
  /** The permits that a process holds when it is killed. */
  readonly lease: ConcurrencyRule;
  readonly subjects: number;
  /** The number of simultaneous requests for a subject. */
  readonly burst: number;
}

/** The duration of the test. */
export interface Span {
  /** The minimum number of processes. */
  readonly lives: number;
  /** More processes are started until this time, by `performance.now()`. */
  readonly endsAt: number;
  /** The number of bursts of a process. */
  readonly bursts: number;
  /** Called after each kill. */
  readonly died: () => Promise<unknown>;
}

/**
 * The decisions that a process reported about one subject, by the clock of this machine, which is also that of the
 * server.
 */
export interface Burst {
  readonly subject: number;
  readonly rule: number;
  readonly sentAt: number;
  readonly answeredAt: number;
  readonly admitted: number;
  readonly asked: number;
}

const program = fileURLToPath(new URL('greedy-process.mjs', import.meta.url));

/**
 * Runs one process after another. Each is killed (SIGKILL) while it goes through the subjects, and the next one
 * continues from there.
 *
 * @returns all reported decisions
 */
export async function liveAndDie(task: Task, { lives, endsAt, bursts, died }: Span): Promise<Burst[]> {
  const told: Burst[] = [];
  for (let life = 0; life < lives || performance.now() < endsAt; life++) {
    told.push(...(await oneLife({ ...task, begin: told.length }, bursts)));
    await died();
  }
  return told;
}

async function oneLife(task: Task & { readonly begin: number }, bursts: number): Promise<Burst[]> {
  const child = fork(program, [JSON.stringify(task)], { execArgv: [] });
  const told: Burst[] = [];
  child.on('message', (burst: Burst) => {
    told.push(burst);
    if (told.length === bursts) child.kill('SIGKILL');
  });
  // Messages may arrive after the kill: 'disconnect' comes last.
  const [[, signal]] = await Promise.all([once(child, 'exit'), once(child, 'disconnect')]);
  if (signal !== 'SIGKILL') throw new Error('The process ended by itself; its reason stands above');
  return told;
}
