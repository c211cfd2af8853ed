import type { StoreFault } from '../contracts/store-fault.js';
import { entryOf } from '../contracts/entry-of.js';

const RECENT_MS = 10_000;
/** A breaker is flapping if it opens this often, each time within ten seconds after it closed. */
const FLAPS = 3;

/** The state of one server of the store, for health and the log. */
class ServerState {
  /** Why its breaker is open; `undefined` if it is closed. */
  open: StoreFault | undefined;
  private failure: { readonly fault: StoreFault; readonly at: number } | undefined;
  private closedAt = -Infinity;
  private changedAt = -Infinity;
  private openings = 0;

  /**
   * Sets the state of its breaker. Returns whether it was open before.
   *
   * @param fault why it is open; `undefined` if it is closed
   */
  changed(fault: StoreFault | undefined): boolean {
    const wasOpen = this.open !== undefined;
    if (fault && !wasOpen) this.openings = isRecent(this.closedAt) ? this.openings + 1 : 1;
    if (!fault) this.closed();
    if (wasOpen !== (fault !== undefined)) this.changedAt = performance.now();
    this.open = fault;
    return wasOpen;
  }

  private closed(): void {
    this.closedAt = performance.now();
    this.failure = this.open && this.openings >= FLAPS ? { fault: this.open, at: this.closedAt } : undefined;
  }

  failed(fault: StoreFault): void {
    this.failure = { fault, at: performance.now() };
  }

  /** Whether its breaker is flapping, and has opened or closed in the last ten seconds. */
  get isFlapping(): boolean {
    return this.openings >= FLAPS && isRecent(this.changedAt);
  }

  /** Returns why it cannot decide, or could not in the last ten seconds. */
  get fault(): StoreFault | undefined {
    const { open, failure } = this;
    return open ?? (failure && isRecent(failure.at) ? failure.fault : undefined);
  }
}

/** The states of the servers of a store, by address. */
export class ServerStates {
  private readonly states = new Map<string, ServerState>();

  of(server: string): ServerState {
    return entryOf(this.states, server, () => new ServerState());
  }

  isFlapping(server: string): boolean {
    return this.states.get(server)?.isFlapping ?? false;
  }

  /** Returns a fault of each server that has one. */
  faults(faultOf: (state: ServerState) => StoreFault | undefined): ReadonlyMap<string, StoreFault> {
    const faults = new Map<string, StoreFault>();
    for (const [server, state] of this.states) {
      const fault = faultOf(state);
      if (fault) faults.set(server, fault);
    }
    return faults;
  }
}

function isRecent(at: number): boolean {
  return performance.now() - at < RECENT_MS;
}
