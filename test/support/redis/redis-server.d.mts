export interface RedisServerOptions {
  /** Lines for redis.conf, such as `['maxmemory 2mb']`; they win over the defaults. @default [] */
  config?: string[];
  /** The port to listen on. @default a free one below 22768, its cluster bus port free too */
  port?: number;
  /** What clients, and replicas with the same option, have to log in with. @default none is asked */
  password?: string;
  /** Whether it speaks TLS only, with this certificate or one of its own: trust the server's `ca`. @default false */
  tls?: boolean | { certificate: string; key: string };
  /** The master that it is a replica of; `untilInSync` waits for its data. @default it is a master */
  replicaOf?: Pick<RedisServer, 'host' | 'port'>;
  /** Whether it is a sentinel: say in `config` what it monitors. @default false */
  sentinel?: boolean;
  /** The server program. @default what `findRedisBinary` finds */
  binary?: string;
}

export interface RedisServer {
  /** With the scheme and the password that it takes. */
  readonly url: string;
  readonly host: string;
  readonly port: number;
  /** The certificate to trust, in PEM, if it speaks TLS. */
  readonly ca: string | undefined;
  /** Whether it runs and has not been paused. */
  readonly isUp: boolean;
  /** The pid of the process that runs now; another after `restart()`. */
  readonly pid: number;
  /** Holds redis.conf, redis.log, redis.sock (never TLS) and what the server saves. */
  readonly folder: string;
  /** Ends the server and removes its folder. Can be called again, and after `kill()`. */
  stop(): Promise<void>;
  /** Hangs it (SIGSTOP): connections stay open and nothing is answered. Resolves once it has stopped. */
  pause(): Promise<void>;
  /** Wakes it (SIGCONT). Resolves once it answers again. */
  resume(): Promise<void>;
  /** Kills it (SIGKILL). Resolves once it is gone; port and folder are kept for `restart()`. */
  kill(): Promise<void>;
  /**
   * Starts it anew on the same port and folder, killing it first if it runs. Resolves once it answers.
   *
   * It reads its redis.conf again, with what CONFIG REWRITE or a sentinel has changed there.
   */
  restart(): Promise<void>;
}

/**
 * Starts a Redis server of the caller's own on 127.0.0.1, without persistence, and waits until it answers.
 *
 * It never outlives this process, however that ends; still, stop it in `afterAll`.
 *
 * @throws when there is no server program (see `hasRedisBinary`), or with the log's end when it won't start
 */
export function startRedisServer(options?: RedisServerOptions): Promise<RedisServer>;
