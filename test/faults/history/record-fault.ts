import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from '../../support/redis/until.mjs';
import type { Fault } from '../fault.js';
import { PATIENCE_MS, scaled } from '../scale.js';
import { closeWith, openPlace, type Place } from '../site.js';
import type { HistoryLine } from './check-history.mjs';
import { ruleLines } from './recorded-rules.mjs';
import { Recorder } from './recorder.js';

const PROCESSES = 2;
/** Requests that each process makes while a fault is on. */
const REQUESTS = scaled(3000, 400);

/** Decisions in a row, of each process: before a fault, and after it to show what is left of it. */
const BEFORE = 200;
const AFTER = 1000;

/** As in recording-application.mjs. */
const now = (): number => Number(process.hrtime.bigint()) / 1e6;

/** Runs two applications into a fault and out of it, and returns what they wrote down, the rules and the fault. */
export async function recordFault(fault: Fault): Promise<HistoryLine[]> {
  const place = await openPlace(fault);
  const folder = await mkdtemp(join(tmpdir(), 'history-'));
  place.whenClosed(() => rm(folder, { recursive: true }));
  try {
    const recorders = await startAll(place, folder);
    const from = now();
    await meet(fault, place, recorders);
    const to = now();
    await untilEach(recorders, ({ inARow }) => inARow >= AFTER, 'Redis to decide again');
    await Promise.all(recorders.map((recorder) => recorder.quiet()));
    await recorders[0]!.charged(subjectsIn((await readAll(recorders)).flat()));
    const histories = await Promise.all(recorders.map((recorder) => recorder.end()));
    const { forgets = false } = fault;
    return [...ruleLines(), { kind: 'fault', from, to, forgets, fallback: 'L' }, ...histories.flat()];
  } finally {
    await place.close();
  }
}

async function startAll(place: Place, folder: string): Promise<Recorder[]> {
  const recorders = await Promise.all(
    Array.from({ length: PROCESSES }, (_, nth) =>
      Recorder.start(place.url, join(folder, `${nth}.jsonl`), PROCESSES),
    ),
  );
  for (const recorder of recorders) closeWith(place, recorder);
  await untilEach(recorders, ({ inARow }) => inARow >= BEFORE, 'Redis to decide');
  return recorders;
}

/** Makes the fault, waits until each process has made requests while it is on, and ends it. */
async function meet(fault: Fault, place: Place, recorders: readonly Recorder[]): Promise<void> {
  await fault.make(place);
  const before = await Promise.all(recorders.map((recorder) => recorder.progress()));
  await fault.goOn?.(place);
  await untilEach(
    recorders,
    ({ requests }, nth) => requests >= before[nth]!.requests + REQUESTS,
    `${REQUESTS} requests`,
  );
  await fault.heal(place);
}

type Condition = (progress: Awaited<ReturnType<Recorder['progress']>>, nth: number) => boolean;

async function untilEach(recorders: readonly Recorder[], isSo: Condition, what: string): Promise<void> {
  for (const [nth, recorder] of recorders.entries()) {
    await until(async () => isSo(await recorder.progress(), nth), what, PATIENCE_MS);
  }
}

function readAll(recorders: readonly Recorder[]): Promise<HistoryLine[][]> {
  return Promise.all(recorders.map((recorder) => recorder.read()));
}

/** Every subject with a counter that Redis can be asked about, but for those of rules whose window ends meanwhile. */
function subjectsIn(history: readonly HistoryLine[]): [string, string][] {
  const known = new Map<string, [string, string]>();
  for (const { kind, rule, subject } of history as { kind: string; rule: string; subject: string }[]) {
    if (kind === 'request' && subject.startsWith('guest-')) known.set(`${rule} ${subject}`, [rule, subject]);
  }
  return [...known.values()];
}
