/** An error reply as ioredis throws it, with the command. */
export interface ReplyError extends Error {
  readonly command?: { readonly name: string; args: readonly unknown[] };
}

/** Whether a value is an error. Checks its shape, since it may be from another realm. */
export function isError(value: unknown): value is Error {
  return typeof value === 'object' && value !== null && 'message' in value && 'name' in value;
}

/** Returns the database that a command selects; `undefined` for other commands. */
export function databaseIn(command: ReplyError['command']): string | undefined {
  return command?.name === 'select' ? String(command.args[0]) : undefined;
}

/** Removes the password from an error that the application may log. */
export function hideLogin({ command }: ReplyError): void {
  if (command?.name === 'auth' || command?.name === 'hello') command.args = [];
}

const LONGEST = 200;

/** Returns the first line of a message, without arguments of commands and positions in scripts. */
export function oneLine(message: string): string {
  const line = message.split('\n')[0]!.replace(/, with args beginning with.*/, '');
  const short = line.replace(/,? ?script: [0-9a-f]{40}.*/, '').trim();
  return short.length > LONGEST ? `${short.slice(0, LONGEST)}…` : short;
}
