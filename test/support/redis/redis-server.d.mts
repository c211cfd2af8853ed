export interface RedisServerOptions {
  /**
   * Lines for redis.conf, such as `['maxmemory 2mb']`; they override the defaults.
   *
   * @default []
   */
  config?: string[];
  /**
   * The port.
   *
   * @default a free one below 22768, with a free cluster bus port
   */
  port?: number;
  /**
   * The password of clients, and of replicas with the same option.
   *
   * @default none
   */
  password?: string;
  /**
   * Whether it accepts only TLS, with this certificate or a new one: trust the server's `ca`.
   *
   * @default false
   */
  tls?: boolean | { certificate: string; key: string };
  /**
   * The master that it replicates; `untilInSync` waits for its data.
   *
   * @default it is a master
   */
  replicaOf?: Pick<RedisServer, 'host' | 'port'>;
  /**
   * Whether it is a sentinel: `config` has to state what it monitors.
   *
   * @default false
   */
  sentinel?: boolean;
  /**
   * The server program.
   *
   * @default the result of `findRedisBinary`
   */
  binary?: string;
}

export interface RedisServer {
  /** With the scheme and the password. */
  readonly url: string;
  readonly host: string;
  readonly port: number;
  /** The certificate to trust, in PEM, if it uses TLS. */
  readonly ca: string | undefined;
  /** Whether it is running and not paused. */
  readonly isUp: boolean;
  /** The pid of the current process; another one after `restart()`. */
  readonly pid: number;
  /** Contains redis.conf, redis.log, redis.sock (never TLS) and the files that the server saves. */
  readonly folder: string;
  /** Stops the server and removes its folder. Can be called again, and after `kill()`. */
  stop(): Promise<void>;
  /** Pauses it (SIGSTOP): connections stay open and nothing is answered. Resolves when it is stopped. */
  pause(): Promise<void>;
  /** Resumes it (SIGCONT). Resolves when it replies again. */
  resume(): Promise<void>;
  /** Kills it (SIGKILL). Resolves when it has ended; port and folder are kept for `restart()`. */
  kill(): Promise<void>;
  /**
   * Starts it again on the same port and folder; kills it first if it is running. Resolves when it replies. It reads
   * its redis.conf again, including the changes of CONFIG REWRITE or of a sentinel.
   */
  restart(): Promise<void>;
}

/**
 * Starts a separate Redis server on 127.0.0.1, without persistence, and waits until it replies. It never outlives
 * this process; still, stop it in `afterAll`.
 *
 * @throws if there is no server program (see `hasRedisBinary`), or with the end of the log if it does not start
 */
export function startRedisServer(options?: RedisServerOptions): Promise<RedisServer>;
