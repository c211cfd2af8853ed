import { spawn } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { lastWill } from './last-will.mjs';
import { answersPing } from './ping.mjs';
import { findRedisBinary } from './redis-binary.mjs';
import { until } from './until.mjs';

/** One process of a server program, in a separate folder. */
export class RedisProcess {
  #child;
  #exited;
  #folder;

  constructor(folder, { binary = findRedisBinary(), sentinel }) {
    if (!binary)
      throw new Error('No redis-server to start: put it on the PATH or name it in REDIS_SERVER_BIN');
    const log = openSync(join(folder, 'redis.log'), 'w');
    this.#folder = folder;
    const args = [join(folder, 'redis.conf'), ...(sentinel ? ['--sentinel'] : [])];
    this.#child = spawn(binary, args, { stdio: ['ignore', log, log] });
    this.#child.unref(); // A server that is not stopped must not keep its parent running.
    closeSync(log);
    const clean = 'kill -KILL "$1"; rm -rf "$2"';
    const revokeWill = lastWill(['sh', '-c', clean, 'sh', String(this.pid), folder]);
    this.#exited = new Promise((resolve) => this.#child.once('exit', resolve)).then(revokeWill);
  }

  get pid() {
    return this.#child.pid;
  }

  /** Waits until this process replies to PING; its Unix socket distinguishes it from another server on the port. */
  async ready() {
    const address = { path: join(this.#folder, 'redis.sock') };
    await until(
      () => this.#hasExited() || answersPing(address),
      `the Redis in ${this.#folder} to answer PING`,
    );
    if (this.#hasExited()) throw new Error(`The Redis server ended at its start: ${this.#log()}`);
  }

  /** Stops it (SIGSTOP) and waits until the system confirms it: no command is executed after this. */
  async pause() {
    this.#child.kill('SIGSTOP');
    const stat = `/proc/${this.pid}/stat`;
    if (existsSync(stat)) await until(() => /\) T /.test(readFileSync(stat, 'utf8')), `${this.pid} to stop`);
  }

  async resume() {
    this.#child.kill('SIGCONT');
    await this.ready();
  }

  async kill() {
    this.#child.ref(); // No other process may use it until it has replied.
    this.#child.kill('SIGKILL');
    await this.#exited;
  }

  #hasExited() {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  #log() {
    return readFileSync(join(this.#folder, 'redis.log'), 'utf8').trim().split('\n').slice(-3).join(' | ');
  }
}
