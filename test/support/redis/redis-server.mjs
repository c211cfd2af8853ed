import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './free-port.mjs';
import { RedisProcess } from './redis-process.mjs';

/**
 * Starts a Redis server of the caller's own on 127.0.0.1, without persistence; see redis-server.d.mts.
 *
 * @param {{ args?: string[], port?: number }} options
 */
export async function startRedisServer({ args = [], port } = {}) {
  for (let attemptsLeft = port === undefined ? 5 : 1; ;) {
    const server = new RedisServer(port ?? (await freePort()), args);
    try {
      await server.restart();
      return server;
    } catch (error) {
      await server.stop();
      // Another program can take the port between the look and the start.
      if (--attemptsLeft === 0 || !/Address already in use/.test(error.message)) throw error;
    }
  }
}

/** The server behind the documented interface: a port and a folder that outlive its processes. */
class RedisServer {
  host = '127.0.0.1';
  folder = mkdtempSync(join(tmpdir(), 'redis-test-'));
  #args;
  #process;

  constructor(port, args) {
    this.port = port;
    this.#args = args;
  }

  get url() {
    return `redis://${this.host}:${this.port}`;
  }

  get pid() {
    return this.#process.pid;
  }

  pause() {
    return this.#process.pause();
  }

  resume() {
    return this.#process.resume();
  }

  async kill() {
    await this.#process?.kill();
  }

  async restart() {
    await this.kill();
    this.#process = new RedisProcess(this.port, this.folder, this.#args);
    await this.#process.ready();
  }

  async stop() {
    await this.kill();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
