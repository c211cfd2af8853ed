// The requests of the load.
import { CONNECTIONS } from './contestants.mjs';

/** The requests of each connection in order: one for each client of the connection. */
export function requestsOf({ clients }) {
  return Array.from({ length: CONNECTIONS }, (_, connection) =>
    Array.from({ length: clients }, (_, client) => requestOf(`198.18.${connection}.${client + 1}`)),
  );
}

function requestOf(ip) {
  return `GET /hello HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: ${ip}\r\n\r\n`;
}
