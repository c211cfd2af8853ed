/** An error reply as ioredis throws it, with the command. */
export interface ReplyError extends Error {
  readonly command?: { readonly name: string; args: readonly unknown[] };
}

/** Whether a value is an error. Checks its shape, since it may be from another realm. */
export function isError(value: unknown): value is Error {
  return typeof value === 'object' && value !== null && 'message' in value && 'name' in value;
}

const LONGEST = 200;

const ARGUMENTS = /, with args beginning with.*/g;

/**
 * Removes passwords and subjects from an error that the application may log: the arguments of its command, but for the
 * number of a database.
 */
export function hideArguments(error: ReplyError): void {
  const { command, message, stack } = error;
  if (command && command.name !== 'select') command.args = [];
  if (message.search(ARGUMENTS) < 0) return;
  error.message = message.replace(ARGUMENTS, '');
  if (stack !== undefined) error.stack = stack.replace(ARGUMENTS, '');
}

/** Returns the first line of a message, without arguments of commands and positions in scripts. */
export function oneLine(message: string): string {
  const line = message.split('\n')[0]!.replace(ARGUMENTS, '');
  const short = line.replace(/,? ?script: [0-9a-f]{40}.*/, '').trim();
  return short.length > LONGEST ? `${short.slice(0, LONGEST)}…` : short;
}
