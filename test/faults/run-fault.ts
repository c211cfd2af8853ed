import { notRunSince } from '../support/not-run.js';
import { until } from '../support/redis/until.mjs';
import type { Application } from './started-application.js';
import type { ServerFault } from './fault.js';
import type { Figures, PhaseFigures, Rest, Turn } from './figures.js';
import { PATIENCE_MS, scaled } from './scale.js';
import { openSite } from './site.js';

/** Hits that a fault is met with. */
const HITS = scaled(3000, 400);

/** What there is to say of a run. */
export interface Run extends Figures {
  readonly before: PhaseFigures;
  /** Hits that began as the fault was made. */
  readonly onset: PhaseFigures;
  readonly during: PhaseFigures;
  /** Hits that began as it was ended. */
  readonly healing: PhaseFigures;
  readonly after: PhaseFigures;
  /** What Redis has charged to the counter without an end, by phase. */
  readonly tallies: Readonly<Record<string, number>>;
  readonly rest: { readonly before: Rest; readonly after: Rest };
  /** The breaker's events from the fault on. */
  readonly turns: readonly Turn[];
  /** For how long the application, the server and the way between them did not run from the fault on. */
  readonly notRunMs: number;
  /** Milliseconds from the fault's end to Redis's next decision. */
  readonly healMs: number;
}

/** Runs an application into a fault and out of it. */
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

/** Lets everything be made that is made once, and tells what the process holds from then on. */
async function warmUp(application: Application): Promise<Rest> {
  await application.start();
  await decidesAgain(application, 'before');
  const rest = await application.rest();
  await application.start();
  await decidesAgain(application, 'before');
  return rest;
}

/** Waits until Redis has decided many hits in a row. */
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

/** A connection that is being made is not a leak: waits for the handles to be what they were. */
async function restLike(application: Application, before: Rest): Promise<Rest> {
  let rest = await application.rest();
  const isSo = async (): Promise<boolean> => {
    rest = await application.rest();
    return rest.handles.join() === before.handles.join();
  };
  await until(isSo, `the handles to be ${before.handles.join()}`).catch(() => undefined); // The test tells.
  return rest;
}

function toldOf(figures: Figures, tallies: Run['tallies'], rest: Run['rest']): Omit<Run, 'notRunMs'> {
  const { before, onset, during, healing, after } = figures.phases as unknown as Run;
  const turns = figures.breaker.filter(({ at }) => at >= onset.startedAt);
  const healMs = after.redisAt! - after.startedAt;
  return { ...figures, before, onset, during, healing, after, tallies, rest, turns, healMs };
}
