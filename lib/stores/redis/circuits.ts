import type { StoreChange } from '../../contracts/store.js';
import { Circuit } from './circuit.js';

/** The circuit breakers of a store: one per server, so that a failed server does not affect the others. */
export class Circuits {
  private readonly circuits = new Map<string, Circuit>();
  private readonly listeners: ((change: StoreChange) => void)[] = [];

  of(server: string): Circuit {
    const known = this.circuits.get(server);
    if (known) return known;
    const circuit = new Circuit((error) => this.report(server, error));
    this.circuits.set(server, circuit);
    return circuit;
  }

  watch(listener: (change: StoreChange) => void): void {
    this.listeners.push(listener);
  }

  /** Probes all unavailable servers immediately, since a connection was established. */
  retry(): void {
    for (const circuit of this.circuits.values()) circuit.retry();
  }

  close(): void {
    for (const circuit of this.circuits.values()) circuit.close();
  }

  private report(server: string, error: unknown): void {
    for (const listener of this.listeners) listener({ server, error });
  }
}
