import type { Snapshot } from '../snapshot.js';
import { patched } from '../snapshot-patch.js';

/** Milliseconds after which a request counts as failed. */
const LONGEST_MS = 15_000;

/**
 * Reads JSON from an address below the page.
 *
 * @throws Error for the reader, with the status as its cause, if the status is not that of a success, the body is not
 * JSON, or the server cannot be reached
 */
export function read<Reply>(path: string): Promise<Reply> {
  return send<Reply>(path, { headers: { accept: 'application/json' } });
}

/**
 * Sends a change. The header cannot be set by a form of another site.
 *
 * @throws Error for the reader, with the status as its cause, if the status is not that of a success, the body is not
 * JSON, or the server cannot be reached
 */
export function post<Reply>(path: string, body: object): Promise<Reply> {
  return send<Reply>(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-rate-limit-dashboard': '1' },
    body: JSON.stringify(body),
  });
}

async function send<Reply>(path: string, init: RequestInit): Promise<Reply> {
  const signal = AbortSignal.timeout(LONGEST_MS);
  const response = await fetch(path, { ...init, signal, cache: 'no-store' }).catch(() => undefined);
  if (!response) throw new Error('The application cannot be reached.');
  const body: unknown = await response.json().catch(() => undefined);
  if (!response.ok) throw new Error(messageOf(response, body), { cause: response.status });
  if (body === undefined) throw new Error(UNREADABLE);
  return body as Reply;
}

/** Such as an empty one, or the login page that a redirect of an ended session leads to. */
const UNREADABLE =
  'The answer of the application cannot be read, so the request may have failed. Reload the page.';

function messageOf({ status, statusText }: Response, body: unknown): string {
  const { message } = (body ?? {}) as { message?: unknown };
  if (Array.isArray(message)) return message.join('\n');
  if (typeof message !== 'string' || message === '')
    return `The application answered ${status} ${statusText}.`;
  // A conflict about no rule is a loss of live rules.
  const isStale = status === 409 && message.startsWith('rule ');
  return isStale
    ? `${message}\nSomeone else has changed the rule. Close this form and open it again.`
    : message;
}

/** Milliseconds without a snapshot after which the figures count as old; the server sends changes each second. */
const SILENCE_MS = 5000;
const LONGEST_WAIT_MS = 15_000;

/** The state of the connection. `problem` is the reason why it is lost. */
export interface Connection {
  readonly state: 'connecting' | 'live' | 'lost' | 'refused';
  readonly problem?: string;
}

/** Follows the snapshots of the server, and connects again when the stream ends or is silent. */
export class SnapshotStream {
  private source: EventSource | undefined;
  private lastAt = performance.now();
  private attempts = 0;
  /** What the stream has sent so far. */
  private last: Snapshot | undefined;

  constructor(
    private readonly onSnapshot: (snapshot: Snapshot) => void,
    private readonly onConnection: (connection: Connection) => void,
  ) {}

  start(): void {
    this.open();
    setInterval(() => {
      if (performance.now() - this.lastAt > SILENCE_MS) void this.reopen();
    }, 1000);
  }

  private open(): void {
    this.lastAt = performance.now();
    const source = new EventSource('events');
    this.source = source;
    source.addEventListener('snapshot', ({ data }: MessageEvent<string>) => {
      this.receive(JSON.parse(data) as Snapshot);
    });
    source.addEventListener('update', ({ data }: MessageEvent<string>) => {
      if (this.last) this.receive(patched(this.last, JSON.parse(data) as object));
    });
    source.addEventListener('error', () => void this.reopen());
  }

  private receive(snapshot: Snapshot): void {
    this.last = snapshot;
    this.attempts = 0;
    this.lastAt = performance.now();
    this.onConnection({ state: 'live' });
    this.onSnapshot(snapshot);
  }

  /**
   * An EventSource hides the status of a refused stream, so that a plain request finds the reason. The server ends streams
   * now and then: the first attempt after that is not reported.
   */
  private async reopen(): Promise<void> {
    if (!this.source) return;
    this.source.close();
    this.source = undefined;
    const wait = Math.min(LONGEST_WAIT_MS, 500 * 2 ** this.attempts++);
    try {
      this.onSnapshot(await read<Snapshot>('snapshot'));
      if (this.attempts > 1)
        this.onConnection({ state: 'lost', problem: 'The stream of figures does not open.' });
    } catch (error) {
      const { cause, message } = error as Error;
      const state = cause === 401 || cause === 403 ? 'refused' : 'lost';
      this.onConnection({ state, problem: message });
    }
    setTimeout(() => this.open(), wait);
  }
}
