import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { ConcurrencyRule, Rule } from '../../lib/index.js';

/** What each life asks for. */
export interface Task {
  readonly url: string;
  readonly prefix: string;
  /** Each subject is asked about one of them, by turns. */
  readonly rules: readonly Rule[];
  /** What it holds when it is killed. */
  readonly lease: ConcurrencyRule;
  readonly subjects: number;
  /** How often it asks for a subject at once. */
  readonly burst: number;
}

/** How long the dying goes on. */
export interface Span {
  /** How many lives there are at the least. */
  readonly lives: number;
  /** There are more until then, as `performance.now()` tells the time. */
  readonly endsAt: number;
  /** How many bursts a life gets done. */
  readonly bursts: number;
  /** Is called after each death. */
  readonly died: () => Promise<unknown>;
}

/** What a process was told about one subject, by the clock of this machine, which is the server's too. */
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
 * One process after another, each killed (SIGKILL) as it goes through the subjects, the next one going on
 * from there.
 *
 * @returns all that they have told
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
  // What it has told before its death may arrive after it: 'disconnect' comes last.
  const [[, signal]] = await Promise.all([once(child, 'exit'), once(child, 'disconnect')]);
  if (signal !== 'SIGKILL') throw new Error('The process ended by itself; its reason stands above');
  return told;
}
