import type { StoreFault } from '../../contracts/store-fault.js';
import type { Announcer } from './announcers.js';
import { faultOf } from './fault.js';

/** The message that tries whether the server publishes. */
export const TRIAL = '';

/** The codes of a server that does not permit this user to subscribe or to publish. */
const NOT_PERMITTED: readonly string[] = ['NOPERM', 'UNKNOWN_COMMAND'];

/**
 * Finds servers that do not permit the limiter's user to publish or to subscribe. Then changes by other processes are not
 * reported. See docs/adr/0054-changes-that-are-not-reported.md.
 */
export class ChannelRights {
  private readonly listeners: ((fault: StoreFault) => void)[] = [];

  /** Calls back each time that a server does not permit it. */
  watch(listener: (fault: StoreFault) => void): void {
    this.listeners.push(listener);
  }

  /** Fails only if the server does not permit it: any other error also stops the calls that announce changes. */
  async tryToPublish(address: string, announcer: Announcer, channel: string): Promise<void> {
    await announcer.publish(channel, TRIAL).catch((error: unknown) => {
      if (isRefusal(faultOf(error, address))) throw error;
    });
  }

  /** Reports an error, if it is that of a missing right. */
  failed(address: string, error: unknown): void {
    const fault = faultOf(error, address);
    if (isRefusal(fault)) for (const listener of this.listeners) listener(fault);
  }
}

function isRefusal({ code }: StoreFault): boolean {
  return NOT_PERMITTED.includes(code);
}
