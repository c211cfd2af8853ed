import type { Expected, Fault, ServerFault } from './fault.js';
import { openPlace, type Load, type Place } from './site.js';

/** Servers that applications connect to. */
export interface Spot {
  /** The connection of an application: a URL, or options of ioredis. */
  readonly redis: unknown;
  /** Number of servers that decide. */
  readonly servers: number;
  /**
   * Whether its fault can lose charges of a subject.
   *
   * @default of every subject
   */
  readonly mayLose?: (subject: string) => boolean;
  close(): Promise<void>;
}

/** A fault with its servers, for any topology. */
export interface StagedFault extends Expected {
  readonly hasOwnClock?: boolean;
  open(): Promise<Stage>;
}

/** Running servers, and a fault that has not started yet. */
export interface Stage extends Spot {
  make(load: Load): Promise<unknown>;
  goOn(load: Load): Promise<unknown>;
  heal(load: Load): Promise<unknown>;
}

/** A fault on servers that it starts itself. */
export function staged<At extends Spot>(
  open: () => Promise<At>,
  fault: Fault<At & { application: Load }>,
): StagedFault {
  const openStage = async (): Promise<Stage> => {
    const at = await open();
    const site = (application: Load): At & { application: Load } => ({ ...at, application });
    return {
      ...at,
      make: (load) => fault.make(site(load)),
      goOn: async (load) => fault.goOn?.(site(load)),
      heal: (load) => fault.heal(site(load)),
    };
  };
  return { ...fault, open: openStage };
}

/** A fault of one server. */
export function onOneServer(fault: ServerFault): StagedFault {
  const open = async (): Promise<Place & Spot> => {
    const place = await openPlace(fault);
    return { ...place, redis: place.url, servers: 1 };
  };
  return { ...staged(open, fault), hasOwnClock: fault.hasOwnClock ?? false };
}
