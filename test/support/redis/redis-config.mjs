import { join } from 'node:path';

/**
 * Returns the lines of a server's redis.conf. If a setting occurs twice, the later line applies.
 *
 * @param {{ port: number, folder: string }} place
 * @param {import('./redis-server.mjs').RedisServerOptions} options
 * @returns {string[]}
 */
export function redisConfig({ port, folder }, { config = [], password, tls, replicaOf, sentinel }) {
  const lines = [
    'bind 127.0.0.1',
    `port ${port}`,
    `unixsocket ${join(folder, 'redis.sock')}`,
    `dir ${folder}`,
    'save ""',
    'appendonly no',
    'repl-diskless-sync-delay 0', // By default, the first replica waits 5 s for others.
  ];
  if (password)
    lines.push(`requirepass ${JSON.stringify(password)}`, `masterauth ${JSON.stringify(password)}`);
  if (tls) lines.push('port 0', `tls-port ${port}`, 'tls-auth-clients no');
  if (tls) lines.push(`tls-cert-file ${join(folder, 'cert.pem')}`, `tls-key-file ${join(folder, 'key.pem')}`);
  if (tls) lines.push(`tls-ca-cert-file ${join(folder, 'cert.pem')}`, 'tls-cluster yes');
  // Like a server before Redis 7, so that the limiter's Lua runs as scripts.
  if (process.env.RL_FUNCTIONS === 'off' && !sentinel)
    lines.push('rename-command FCALL ""', 'rename-command FUNCTION ""');
  if (replicaOf) lines.push(`replicaof ${replicaOf.host} ${replicaOf.port}`);
  return [...lines, ...config];
}
