import { notRunSince } from '../support/not-run.js';
import { until } from '../support/redis/until.mjs';
import type { Application } from './started-application.js';
import type { ServerFault } from './fault.js';
import type { Figures, PhaseFigures, Rest, Turn } from './figures.js';
import { PATIENCE_MS, scaled } from './scale.js';
import { openSite } from './site.js';

/** Number of hits that are sent when a fault starts. */
const HITS = scaled(3000, 400);

/** The figures of a run. */
export interface Run extends Figures {
  readonly before: PhaseFigures;
  /** Hits that began when the fault started. */
  readonly onset: PhaseFigures;
  readonly during: PhaseFigures;
  /** Hits that began when the fault ended. */
  readonly healing: PhaseFigures;
  readonly after: PhaseFigures;
  /** The total of the unlimited counter in Redis, by phase. */
  readonly tallies: Readonly<Record<string, number>>;
  readonly rest: { readonly before: Rest; readonly after: Rest };
  /** The breaker's events since the start of the fault. */
  readonly turns: readonly Turn[];
  /** How long the application, the server and the proxy were ready but not running since the start of the fault. */
  readonly notRunMs: number;
  /** Milliseconds from the end of the fault to the next decision by Redis. */
  readonly healMs: number;
}

/** Runs an application through a fault. */
export async function runFault(fault: ServerFault): Promise<Run> {
  const site = await openSite(fault);
  const { application } = site;
  try {
    const before = await warmUp(application);
    const notRun = notRunSince(() => [site.server.pid, application.pid, process.pid]);
    await application.begin('onset');
    await fault.make(site);
    await application.begin('during');
    await fault.goOn?.(site);
    await application.until(isMet(fault), `${HITS} hits and the breaker`, PATIENCE_MS);
    await application.begin('healing');
    await fault.heal(site);
    await application.begin('after');
    await decidesAgain(application, 'after');
    const notRunMs = notRun();
    const after = await restLike(application, before);
    const told = toldOf(await application.figures(), await application.tallies(), { before, after });
    return { ...told, notRunMs };
  } finally {
    await site.close();
  }
}

/** Waits until everything that is created once exists, and returns the handles and the heap after that. */
async function warmUp(application: Application): Promise<Rest> {
  await application.start();
  await decidesAgain(application, 'before');
  const rest = await application.rest();
  await application.start();
  await decidesAgain(application, 'before');
  return rest;
}

/** Waits until Redis has made many consecutive decisions. */
async function decidesAgain(application: Application, phase: string): Promise<void> {
  const { asked } = (await application.figures()).phases[phase]!;
  const isSo = ({ phases }: Figures): boolean =>
    phases[phase]!.inARow >= 200 && phases[phase]!.asked >= asked + 200;
  await application.until(isSo, 'Redis to decide every hit', PATIENCE_MS);
}

function isMet({ breaker }: ServerFault): (figures: Figures) => boolean {
  return (figures) => {
    const { decided } = figures.phases['during']!;
    return decided >= HITS && (breaker === 'any' || figures.breaker.at(-1)?.state === 'open');
  };
}

/** A connection that is being opened is not a leak: waits until the number of handles is the same as before. */
async function restLike(application: Application, before: Rest): Promise<Rest> {
  let rest = await application.rest();
  const isSo = async (): Promise<boolean> => {
    rest = await application.rest();
    return rest.handles.join() === before.handles.join();
  };
  await until(isSo, `the handles to be ${before.handles.join()}`).catch(() => undefined); // The test reports it.
  return rest;
}

function toldOf(figures: Figures, tallies: Run['tallies'], rest: Run['rest']): Omit<Run, 'notRunMs'> {
  const { before, onset, during, healing, after } = figures.phases as unknown as Run;
  const turns = figures.breaker.filter(({ at }) => at >= onset.startedAt);
  const healMs = after.redisAt! - after.startedAt;
  return { ...figures, before, onset, during, healing, after, tallies, rest, turns, healMs };
}
