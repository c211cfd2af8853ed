// What the load asks for.
import { CONNECTIONS } from './contestants.mjs';

/** Of each connection the requests that it sends in turn: one for each client behind it. */
export function requestsOf({ clients }) {
  return Array.from({ length: CONNECTIONS }, (_, connection) =>
    Array.from({ length: clients }, (_, client) => requestOf(`198.18.${connection}.${client + 1}`)),
  );
}

function requestOf(ip) {
  return `GET /hello HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: ${ip}\r\n\r\n`;
}
