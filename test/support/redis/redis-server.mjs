import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './free-port.mjs';
import { redisConfig } from './redis-config.mjs';
import { RedisProcess } from './redis-process.mjs';
import { selfSigned } from './self-signed.mjs';

/**
 * Starts a separate Redis server on 127.0.0.1, without persistence; see redis-server.d.mts.
 *
 * @param {import('./redis-server.mjs').RedisServerOptions} options
 */
export async function startRedisServer({ port, ...options } = {}) {
  for (let attemptsLeft = port === undefined ? 5 : 1; ;) {
    const server = new RedisServer(port ?? (await freePort()), options);
    try {
      await server.restart();
      return server;
    } catch (error) {
      await server.stop();
      // Another program can take the port between the check and the start.
      if (--attemptsLeft === 0 || !/Address already in use/.test(error.message)) throw error;
    }
  }
}

/** A server with the documented interface: its port and folder outlive its processes. */
class RedisServer {
  host = '127.0.0.1';
  folder = mkdtempSync(join(tmpdir(), 'redis-test-'));
  ca;
  isUp = false;
  #options;
  #process;

  constructor(port, options) {
    this.port = port;
    this.#options = options;
    if (options.tls) this.#certify(options.tls);
    writeFileSync(join(this.folder, 'redis.conf'), redisConfig(this, options).join('\n'));
  }

  get url() {
    const { password, tls } = this.#options;
    const login = password ? `:${encodeURIComponent(password)}@` : '';
    return `${tls ? 'rediss' : 'redis'}://${login}${this.host}:${this.port}`;
  }

  get pid() {
    return this.#process.pid;
  }

  async pause() {
    this.isUp = false;
    await this.#process.pause();
  }

  async resume() {
    await this.#process.resume();
    this.isUp = true;
  }

  async kill() {
    this.isUp = false;
    await this.#process?.kill();
  }

  async restart() {
    await this.kill();
    this.#process = new RedisProcess(this.folder, this.#options);
    await this.#process.ready();
    this.isUp = true;
  }

  async stop() {
    await this.kill();
    rmSync(this.folder, { recursive: true, force: true });
  }

  #certify(tls) {
    const { certificate, key } = tls === true ? selfSigned() : tls;
    writeFileSync(join(this.folder, 'cert.pem'), certificate);
    writeFileSync(join(this.folder, 'key.pem'), key);
    this.ca = certificate;
  }
}
