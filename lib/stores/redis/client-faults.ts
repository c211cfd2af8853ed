import type { StoreFault } from '../../contracts/store-fault.js';
import { addressOf } from './connection.js';
import type { CurrentClient } from './current-client.js';
import { faultOf } from './fault.js';

/** Finds the faults behind errors of the store's client. */
export class ClientFaults {
  constructor(private readonly current: CurrentClient) {}

  /** Returns the fault for an error of a server. */
  of(server: string, error: unknown): StoreFault {
    const { client, connection } = this.current;
    const fault = faultOf(error, server || addressOf(client), { clientState: connection, of: server });
    if (fault.code === 'MOVED') this.current.isNode = true;
    return fault;
  }

  /** Returns the fault for a failed call; without a connection, why there is none. */
  ofCall(server: string, error: unknown): StoreFault {
    return this.of(server, this.current.connection.reasonOf(error));
  }

  /** Returns the fault for an error reply about a key that messages may contain. */
  ofKey(key: string, error: unknown): StoreFault {
    const { client, keyPrefix } = this.current;
    const server = this.current.serverOf(key);
    return faultOf(error, server || addressOf(client), { key: keyPrefix + key, of: server });
  }
}
