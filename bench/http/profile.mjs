// Profiles a contestant's app under load, and says where a request's time went.
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Load } from './load.mjs';
import { STEADY_RATE, warmUp, withApps } from './measure.mjs';
import { latenciesAt } from './steady-rate.mjs';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/**
 * Two lists of `{ where, us }`, self time a request by package and by function, the longest first; and the
 * CPU of a request with it, which is less where the machine was needed for others.
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

/** Idle time is nobody's. */
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

/** A package of node_modules by its name, the rest by what it belongs to. */
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
