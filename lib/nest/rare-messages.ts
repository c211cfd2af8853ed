// Messages of warnings that few applications log. They are loaded when they are logged.
import { shown } from '../contracts/shown.js';
import type { Exchange } from './request/exchange.js';

/** Returns the warning of a rule of `concurrency` whose permits were lost. */
export function permitsLost(rule: string): string {
  return (
    `A request that is still running has lost its permits of ${rule}: their lease was not renewed in time, Redis lost ` +
    'them, or its clock was set forward. Others can take them, so that more than the limit run at once until it ends. ' +
    'Set `lease` longer than the outages of Redis that you expect; this is logged once for each rule.'
  );
}

/** Returns the warning of a value of the variable RATE_LIMIT other than `off`. */
export function withoutEffect(value: string): string {
  return `RATE_LIMIT=${shown(value)} has no effect, and every limit is enforced. Write RATE_LIMIT=off, or remove the variable.`;
}

export const REDIS_UNSET =
  '`redis` is undefined in production, so this process counts in its memory: n processes allow n times each ' +
  'limit, and a restart clears the counters. Set the variable that `redis` is read from; if it is in `.env`, import ConfigModule before ' +
  'RateLimitModule. Or leave `redis` out of the options.';

/** The warning of rules that count sockets by IP behind a proxy. */
export const PEER_ONLY =
  'The handshake of a socket has X-Forwarded-For or Forwarded, and a socket has the IP of its peer, whatever proxies ' +
  'the framework trusts. Behind a proxy, all clients of sockets have its IP and share one counter. Count by something ' +
  "else: by: 'user', or a function that finds the client in the handshake.";

/** Returns the warning of a rule of `onDemand` that nothing has named. */
export function unnamedMessage(name: string): string {
  return (
    `onDemand.${name} limits nothing so far: no decorator names it, and in an hour no program has used it. Write ` +
    `@RateLimit('${name}') on handlers, limit with consume('${name}', subject), or move it to \`rules\`.`
  );
}

/** Returns the warning of a request without an IP address that a rule counts by. */
export function noAddressMessage(rule: string, { transport, request }: Exchange): string {
  const fix =
    transport === 'graphql' && !request.headers
      ? 'The context of its GraphQL operation has no request: return it from `context`, as in ({ req }) => ({ req }), or ' +
        'pass it to executeOperation() as contextValue, and to app.graphql() of Mercurius as its second argument. '
      : 'On a unix socket the address comes from X-Forwarded-For, and only if the framework trusts the proxy: ' +
        "app.set('trust proxy', 1) on Express, trustProxy: (_address, hop) => hop === 0 on Fastify. ";
  return (
    `Rule "${rule}" counts by IP, and a request had no IP address, so it got a 500. ${fix}` +
    "Otherwise count by something else, or set onMissingSubject to 'skip' or 'deny'."
  );
}
