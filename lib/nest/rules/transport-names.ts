/** The transports of handlers: HTTP, GraphQL, WebSockets, microservices, and contexts of other libraries. */
export const TRANSPORT_NAMES = ['http', 'graphql', 'ws', 'rpc', 'other'] as const;

/** A transport of handlers. `'rpc'` is a microservice; `'other'` is a context of a library, such as a queue consumer. */
export type TransportName = (typeof TRANSPORT_NAMES)[number];

/** The transports whose handlers all have the module's `rules`. */
export const RULED: readonly TransportName[] = ['http', 'graphql', 'ws'];
