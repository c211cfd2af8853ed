export interface RedisServerOptions {
  /** Arguments for the program, such as `['--maxmemory', '2mb']`; they win over the defaults. @default [] */
  args?: string[];
  /** The port to listen on. @default a free one below 22768, its cluster bus port free too */
  port?: number;
}

export interface RedisServer {
  readonly url: string;
  readonly host: string;
  readonly port: number;
  /** The pid of the process that runs now; another after `restart()`. */
  readonly pid: number;
  /** Holds the log, the Unix socket and what the server saves. */
  readonly folder: string;
  /** Ends the server and removes its folder. Can be called again, and after `kill()`. */
  stop(): Promise<void>;
  /** Hangs it (SIGSTOP): connections stay open and nothing is answered. Resolves once it has stopped. */
  pause(): Promise<void>;
  /** Wakes it (SIGCONT). Resolves once it answers again. */
  resume(): Promise<void>;
  /** Kills it (SIGKILL). Resolves once it is gone; port and folder are kept for `restart()`. */
  kill(): Promise<void>;
  /** Starts it anew on the same port and folder, killing it first if it runs. Resolves once it answers. */
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
