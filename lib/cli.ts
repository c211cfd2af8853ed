#!/usr/bin/env node
// npx nestjs-redis-rate-limit migrate [path] [--dry-run] [--force]
// npx nestjs-redis-rate-limit simulate <log>... --rule <rule>
import type { RateLimitConfigError } from './contracts/rate-limit-config.error.js';

const USAGE = `npx nestjs-redis-rate-limit migrate [path] [--dry-run] [--force]

Moves an application from @nestjs/throttler to nestjs-redis-rate-limit: modules, decorators and guards.

  path        a folder or a tsconfig.json; default: the current folder
  --dry-run   prints what would change, and writes nothing
  --force     also writes files with uncommitted changes

Prints the limits of every route before and after; exits with 1 if one differs or cannot be computed.

npx nestjs-redis-rate-limit simulate <log>... --rule <rule> [--rule <rule>]...

Replays access logs, and prints which requests each rule would have allowed, delayed and denied.

  log              nginx or Apache (combined, common), JSON lines or CSV; also gzip; "-" is the standard input
  --rule           '100/1m', '100/1m gcra', '100/1m token-bucket burst=20'
  --by             ip (default), user, path, everyone, a header or a field of the log; several: ip,path
  --suggest        0.1% or 0.1%clients: the smallest limit of each algorithm that denies at most that share
  --format         haproxy, syslog, alb, vhost_combined, combined, nginx-forwarded, caddy, traefik, cloudflare, json,
                   cloudfront, iis or csv; default: detected from the first lines
  --map            names of fields in the log: ip=client.addr,time=ts
  --json           prints the result as JSON
  --html           writes a report with charts to this file
  --max-clients    maximum number of clients and states in memory; default: 1000000`;

/** Runs a command. Returns what to print; `undefined` if its arguments are wrong. */
async function run(command: string | undefined, args: readonly string[]): Promise<string | undefined> {
  if (command === 'simulate') return (await import('./simulate/command.js')).simulateCommand(args);
  if (command === 'migrate') {
    const { lines, isSame } = await (await import('./migrate/migrate.js')).migrateCommand(args);
    if (!isSame) process.exitCode = 1;
    return lines.join('\n');
  }
  if (command !== undefined) console.error(`command: got "${command}"; allowed: migrate, simulate`);
  return undefined;
}

const [command, ...args] = process.argv.slice(2);
try {
  const isHelp = command === '--help' || args.includes('--help');
  const output = isHelp ? USAGE : await run(command, args);
  console.log(output ?? USAGE);
  if (output === undefined) process.exitCode = 1;
} catch (error) {
  const { problems } = error as Partial<RateLimitConfigError>;
  if (problems === undefined) throw error;
  for (const problem of problems) console.error(problem);
  process.exitCode = 1;
}
