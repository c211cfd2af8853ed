// Runs README's commands as on a fresh machine: in a clone of the last commit, with nothing that an earlier run left in
// the system's temporary folder, in npm's cache or in .cache/. It installs, starts the sample application, sends it a
// request, and runs one spec in the Chromium that npm installs.
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const PROJECT = fileURLToPath(new URL('..', import.meta.url));
const BROWSER_SPEC = 'test/browser/dashboard.spec.ts';
const LONGEST_START = 600_000;

const scratch = mkdtempSync(join(tmpdir(), 'fresh-machine-'));
const [clone, temporary, cache] = ['clone', 'tmp', 'npm'].map((name) => join(scratch, name));
const env = { ...process.env, TMPDIR: temporary, npm_config_cache: cache, CHROMIUM_BIN: '', PORT: '0' };
delete env.REDIS_URL;

let application;
process.once('exit', () => {
  if (application) process.kill(-application.pid, 'SIGKILL');
  rmSync(scratch, { recursive: true, force: true });
});
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));

mkdirSync(temporary);
run('git', 'clone', '--quiet', PROJECT, clone);
run('npm', 'ci');
await start();
run('npm', 'run', 'jest', '--', '--maxWorkers=1', BROWSER_SPEC);

function run(command, ...args) {
  const cwd = command === 'git' ? PROJECT : clone;
  const { status } = spawnSync(command, args, { cwd, env, stdio: ['ignore', 'inherit', 'inherit'] });
  if (status !== 0) throw new Error(`${[command, ...args].join(' ')}: exit code ${status}`);
}

/** Runs `npm start` until the application has responded to a request. */
async function start() {
  // A process group, because npm starts the application through other processes.
  const options = { cwd: clone, env, stdio: ['ignore', 'pipe', 'inherit'], detached: true };
  const { pid, stdout } = (application = spawn('npm', ['start'], options));
  const ended = new Promise((resolve) => application.once('close', () => resolve()));
  void ended.then(() => (application = undefined));
  const origin = await Promise.race([addressIn(stdout), ended, sleep(LONGEST_START, '', { ref: false })]);
  if (!origin) throw new Error('npm start: the application does not listen');
  const { status, headers } = await fetch(`${origin}/orders`, { method: 'POST' });
  console.log(`POST /orders: ${status}, RateLimit: ${headers.get('ratelimit')}`);
  if (!headers.has('ratelimit')) throw new Error('npm start: the response has no RateLimit header');
  process.kill(-pid, 'SIGINT');
  await ended;
}

/** Returns the address that the sample application prints. */
function addressIn(output) {
  let text = '';
  return new Promise((resolve) => {
    output.setEncoding('utf8').on('data', (part) => {
      process.stdout.write(part);
      text += part;
      const [origin] = /http:\/\/localhost:\d+(?= lists)/.exec(text) ?? [];
      if (origin) resolve(origin);
    });
  });
}
