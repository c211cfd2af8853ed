import type { StoreChange } from '../../contracts/store.js';
import { Circuit } from './circuit.js';

/** The circuits of a store, one a server, so that one that is gone does not stop the others. */
export class Circuits {
  private readonly circuits = new Map<string, Circuit>();
  private readonly listeners: ((change: StoreChange) => void)[] = [];

  of(server: string): Circuit {
    const known = this.circuits.get(server);
    if (known) return known;
    const circuit = new Circuit((error) => this.tell(server, error));
    this.circuits.set(server, circuit);
    return circuit;
  }

  watch(listener: (change: StoreChange) => void): void {
    this.listeners.push(listener);
  }

  /** Probes all servers that are given up now, since a connection stands again. */
  retry(): void {
    for (const circuit of this.circuits.values()) circuit.retry();
  }

  close(): void {
    for (const circuit of this.circuits.values()) circuit.close();
  }

  private tell(server: string, error: unknown): void {
    for (const listener of this.listeners) listener({ server, error });
  }
}
