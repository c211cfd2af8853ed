// Profiles the application of a contestant under load, and reports where the time of a request is spent.
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Load } from './load.mjs';
import { STEADY_RATE, warmUp, withApps } from './measure.mjs';
import { latenciesAt } from './steady-rate.mjs';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/**
 * Returns two lists of `{ where, us }`: self time per request by package and by function, the longest first. Also
 * returns the CPU time of a request with it, which is lower if the machine had other work.
 */
export function profileOf(setup, isSteady, { warmUp: answers, profile: duration }) {
  return withApps(setup, async ([app]) => {
    await warmUp(app, answers);
    await app.ask('startProfile');
    const before = await app.ask('usage');
    await (isSteady ? latenciesAt(STEADY_RATE, duration / 1000, app) : saturate(app, duration));
    const after = await app.ask('usage');
    const profile = await app.ask('stopProfile');
    const requests = after.requests - before.requests;
    return { appMicros: (after.cpu - before.cpu) / requests, ...summary(profile, requests) };
  });
}

async function saturate(app, duration) {
  const load = await Load.start(app);
  await load.begin(0);
  await sleep(duration);
  load.end();
  load.stop();
}

/** Idle time belongs to no package. */
function summary({ nodes, samples, timeDeltas }, requests) {
  const frames = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]));
  const [packages, functions] = [new Map(), new Map()];
  for (const [index, id] of samples.entries()) {
    const frame = frames.get(id);
    if (frame.functionName === '(idle)') continue;
    const us = timeDeltas[index] / requests;
    add(packages, packageOf(frame), us);
    add(functions, `${packageOf(frame)}: ${functionOf(frame)}`, us);
  }
  return { packages: longestFirst(packages), functions: longestFirst(functions) };
}

function add(sums, where, us) {
  sums.set(where, (sums.get(where) ?? 0) + us);
}

function longestFirst(sums) {
  return [...sums].map(([where, us]) => ({ where, us })).sort((one, other) => other.us - one.us);
}

/** Returns the name of a package in node_modules, or the group of any other file. */
function packageOf({ url, functionName }) {
  const [, name] = /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url) ?? [];
  if (name) return name;
  if (url.startsWith('node:')) return 'node';
  if (url.includes('/dist/')) return 'this package';
  return url === '' ? (functionName.startsWith('(') ? 'V8' : 'native') : 'the app';
}

function functionOf({ url, functionName, lineNumber }) {
  const name = functionName || '(anonymous)';
  if (url === '') return name;
  const file = url.replace(/.*node_modules\/((@[^/]+\/)?[^/]+)\//, '').replace('file://', '');
  return `${name} ${file.replace(ROOT, '').replace(/^.*dist\/esm\//, '')}:${lineNumber + 1}`;
}
