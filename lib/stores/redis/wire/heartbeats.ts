import type { Heartbeat, HeartbeatWatcher } from '../../../contracts/base-store.js';
import type { Batches } from './batches.js';
import { Call, type CallClock } from './call.js';
import type { CurrentClient } from '../link/current-client.js';
import { failureIn } from './reply.js';

/**
 * How long the server keeps an expired heartbeat, in microseconds. If the heartbeat of a process is missing sooner, the server
 * has lost data.
 */
const KEPT_FOR = 3600e6;

/**
 * Sends the heartbeats of this process. Each server of a Cluster gets one, since a server that does not have the last one
 * any more, although it is still kept, has lost data.
 */
export class Heartbeats {
  /** When the last heartbeat was sent, and until when it is valid, by key and process. */
  private readonly last = new Map<string, { readonly now: number; readonly until: number }>();
  private readonly watchers = new Set<HeartbeatWatcher>();

  constructor(
    private readonly batches: Batches,
    private readonly current: CurrentClient,
    private readonly now: CallClock,
  ) {}

  watch(watcher: HeartbeatWatcher): () => void {
    this.watchers.add(watcher);
    return () => void this.watchers.delete(watcher);
  }

  /** @throws StoreFault if the server of the key fails; another server that fails is ignored */
  async send(heartbeat: Heartbeat) {
    const { key } = heartbeat;
    const others = this.keysOfOthers(key).map((other) => this.sendTo({ ...heartbeat, key: other }));
    const [beat] = await Promise.all([
      this.sendTo(heartbeat),
      ...others.map((sent) => sent.catch(() => undefined)),
    ]);
    for (const watcher of this.watchers) watcher.foundApplications?.(beat.applications);
    return beat;
  }

  /** Returns a key for each server but that of a key, which has a hash tag. */
  private keysOfOthers(key: string): readonly string[] {
    if (!this.current.cluster) return [];
    const keyOf = (nth: number): string => (nth === 0 ? key : key.replace('}', `-${nth}}`));
    return this.current.firstByServer(keyOf, String).filter((each) => each !== key);
  }

  /** Returns what a server has replied. Times are in microseconds since the epoch. */
  private async sendTo({ key, instance, application, duration }: Heartbeat) {
    const call = new Call(this.now?.(), 'heartbeat');
    call.addKey(key);
    const process = application === undefined ? instance : `${instance} ${application}`;
    call.add(process, duration, KEPT_FOR);
    const reply = await this.batches.run(call);
    const server = this.current.serverOf(key);
    const failure = failureIn(reply);
    if (failure) throw this.current.faultOf(server, failure, key);
    const [alive, now, before, applications] = reply as [number, number, number, string[]];
    const last = this.last.get(`${key} ${process}`);
    // A step of the server's clock may have ended the last heartbeat.
    const isLost = last && before < last.until && now >= last.now && now < last.until + KEPT_FOR;
    if (isLost) for (const watcher of this.watchers) watcher.lostData?.(server);
    if (duration > 0) this.last.set(`${key} ${process}`, { now, until: now + duration });
    else this.last.delete(`${key} ${process}`);
    return { alive, now, applications };
  }
}
