/** Milliseconds after which a request counts as failed. */
const LONGEST_MS = 15_000;

/** A request that the server refused. Its message is for the reader. */
export class RefusedError extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

/**
 * Reads JSON from an address below the page.
 *
 * @throws RefusedError if the status is not that of a success, or the server cannot be reached
 */
export function read<Reply>(path: string): Promise<Reply> {
  return send<Reply>(path, { headers: { accept: 'application/json' } });
}

/**
 * Sends a change. The header cannot be set by a form of another site.
 *
 * @throws RefusedError if the status is not that of a success, or the server cannot be reached
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
  if (!response) throw new RefusedError(0, 'The application cannot be reached.');
  const body: unknown = await response.json().catch(() => ({}));
  if (!response.ok) throw new RefusedError(response.status, messageOf(response, body));
  return body as Reply;
}

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
