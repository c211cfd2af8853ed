import type { HttpRequest } from '../../http/subject.js';
import { WITHOUT_HEADER } from './address-check.js';
import type { Exchange } from '../request/exchange.js';
import type { Warnings } from '../warnings.js';

/** What the warning is about: it has another fix than that about HTTP requests, and is logged beside it. */
export const SOCKETS = 'sockets';

const PEER_ONLY =
  'The handshake of a socket has X-Forwarded-For or Forwarded, and a socket has the IP of its peer, whatever proxies ' +
  'the framework trusts. Behind a proxy, all clients of sockets have its IP and share one counter. Count by something ' +
  "else: by: 'user', or a function that finds the client in the handshake.";

/** Whether no framework has found the address of a request: a WebSocket's handshake, or a subscription's. */
export function isSocketRequest(request: HttpRequest): boolean {
  return !('ip' in request) && request.socket !== undefined;
}

/** Finds out from the handshakes of sockets whether clients connect through a proxy, whose IP they share. */
export class SocketAddressCheck {
  private isDecided = false;
  private without = 0;

  constructor(private readonly warnings: Warnings) {}

  /** Looks at the handshake of a request; true once nothing is left to find out. */
  see({ request: { headers } }: Exchange): boolean {
    if (this.isDecided) return true;
    this.without += 1;
    const isForwarded = headers?.['x-forwarded-for'] !== undefined || headers?.['forwarded'] !== undefined;
    if (isForwarded) this.warnings.warn('RL_FORWARDED_UNTRUSTED', PEER_ONLY, SOCKETS);
    return (this.isDecided = isForwarded || this.without >= WITHOUT_HEADER);
  }
}
