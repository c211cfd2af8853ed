import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from '../../support/redis/until.mjs';
import { PATIENCE_MS, scaled } from '../scale.js';
import type { Load } from '../site.js';
import type { Stage, StagedFault } from '../stage.js';
import { violationsIn, type HistoryLine } from './check-history.mjs';
import { EXAMINED, outcomeOf, ruleLines } from './recorded-rules.mjs';
import { Recorder, type RecorderOptions } from './recorder.js';

const PROCESSES = 2;
/** Number of requests of each process during a fault. */
const REQUESTS = scaled(3000, 400);

/** Number of consecutive decisions of each process: before a fault, and after it to show its effects. */
const BEFORE = 200;
const AFTER = scaled(1000, 500);

/** How long unused permits may stay charged after all requests: see docs/adr/0022-lost-calls.md. */
const SETTLED_MS = 10_000;

/** The same clock as in history-file.mjs. */
const now = (): number => Number(process.hrtime.bigint()) / 1e6;

/** Runs two applications through a fault, and returns their histories, the rules and the fault. */
export async function recordFault(fault: StagedFault): Promise<HistoryLine[]> {
  const stage = await fault.open();
  const folder = await mkdtemp(join(tmpdir(), 'history-'));
  const recorders: Recorder[] = [];
  const { hasOwnClock = false, isThereAtStart = false } = fault;
  // Without `instances`, a process that has never reached Redis assumes that it is the only one.
  const known = isThereAtStart ? 1 : PROCESSES;
  try {
    const start = (): Promise<void> =>
      startAll(recorders, { redis: stage.redis, hasOwnClock, instances: known }, folder);
    const load = loadOf(recorders);
    if (!isThereAtStart) await start();
    if (!isThereAtStart) await untilEach(recorders, ({ inARow }) => inARow >= BEFORE, 'Redis to decide');
    const from = now();
    await stage.make(load);
    if (isThereAtStart) await start();
    await stage.goOn(load);
    await load.more(REQUESTS);
    if (fault.deciding === 'fallback') await untilEach(recorders, hasBoth('fallback'), 'every outcome');
    await stage.heal(load);
    const to = now();
    await untilEach(recorders, ({ inARow }) => inARow >= AFTER, 'Redis to decide again');
    await Promise.all(recorders.map((recorder) => recorder.quiet()));
    const histories = await Promise.all(recorders.map((recorder) => recorder.read()));
    const requests = [...ruleLines(), { kind: 'processes', count: PROCESSES, known }, ...histories.flat()];
    const history = [...requests, faultLine(fault, stage, { from, to }, requests)];
    const charged = await settled(recorders[0]!, history);
    await Promise.all(recorders.map((recorder) => recorder.end()));
    const all = [...history, ...charged];
    await keep(fault.name, all);
    return all;
  } finally {
    await Promise.all(recorders.map((recorder) => recorder.kill()));
    await stage.close();
    await rm(folder, { recursive: true });
  }
}

/** Starts the applications and adds them to a list. They send requests from then on. */
async function startAll(
  recorders: Recorder[],
  options: Omit<RecorderOptions, 'file'>,
  folder: string,
): Promise<void> {
  const start = async (nth: number): Promise<void> => {
    recorders.push(await Recorder.start({ ...options, file: join(folder, `${nth}.jsonl`) }));
  };
  await Promise.all(Array.from({ length: PROCESSES }, (_, nth) => start(nth)));
}

function loadOf(recorders: readonly Recorder[]): Load {
  return {
    async more(requests) {
      const before = await Promise.all(recorders.map((recorder) => recorder.progress()));
      const isMore: Condition = (progress, nth) => progress.requests >= before[nth]!.requests + requests;
      await untilEach(recorders, isMore, `${requests} requests`);
    },
    async step(milliseconds) {
      await Promise.all(recorders.map((recorder) => recorder.step(milliseconds)));
    },
  };
}

/** Whether a source has allowed and denied requests of every examined rule. */
const hasBoth =
  (source: string): Condition =>
  ({ outcomes }) =>
    EXAMINED.every((rule) =>
      [true, false].every((isAllowed) => outcomes.includes(outcomeOf(rule, source, isAllowed))),
    );

type Condition = (progress: Awaited<ReturnType<Recorder['progress']>>, nth: number) => boolean;

async function untilEach(recorders: readonly Recorder[], isSo: Condition, what: string): Promise<void> {
  for (const [nth, recorder] of recorders.entries()) {
    await until(async () => isSo(await recorder.progress(), nth), what, PATIENCE_MS);
  }
}

function faultLine(
  { forgets, losesMs, clock }: StagedFault,
  { servers, mayLose }: Stage,
  { from, to }: { from: number; to: number },
  history: readonly HistoryLine[],
): HistoryLine {
  const known = new Set(history.flatMap(({ subject }) => (typeof subject === 'string' ? [subject] : [])));
  const subjects = mayLose && [...known].filter(mayLose);
  const lost = (forgets || losesMs !== undefined) && { from: forgets ? 0 : from - losesMs!, to, subjects };
  return { kind: 'fault', from, to, servers, ...(lost && { lost }), ...(clock && { clock }) };
}

/** Returns the charges in Redis, after the time in which unused permits are released: lines of a history. */
async function settled(recorder: Recorder, history: readonly HistoryLine[]): Promise<HistoryLine[]> {
  const others = new Set(violationsIn(history));
  const deadline = now() + SETTLED_MS;
  for (;;) {
    const charged = await recorder.charged();
    const found = violationsIn([...history, ...charged]).filter((each) => !others.has(each));
    if (found.length === 0 || now() > deadline) return charged;
  }
}

/** Writes a history to the folder in `HISTORY_DIR`, if that is set. */
async function keep(name: string, history: readonly HistoryLine[]): Promise<void> {
  const folder = process.env['HISTORY_DIR'];
  if (!folder) return;
  const file = join(folder, `${name.replaceAll(/\W+/g, '-')}.jsonl`);
  await writeFile(file, history.map((line) => `${JSON.stringify(line)}\n`).join(''));
}
