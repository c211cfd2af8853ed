import type { Exchange } from './exchange.js';

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
