/** An error that a server answered, with the command, as ioredis throws it. */
export interface ReplyError extends Error {
  readonly command?: { readonly name: string; args: readonly unknown[] };
}

/** By its shape, since an error may come from another realm. */
export function isError(value: unknown): value is Error {
  return typeof value === 'object' && value !== null && 'message' in value && 'name' in value;
}

/** The database that a command selects; `undefined` for other commands. */
export function databaseIn(command: ReplyError['command']): string | undefined {
  return command?.name === 'select' ? String(command.args[0]) : undefined;
}

/** Takes the password out of an error that the application may log. */
export function hideLogin({ command }: ReplyError): void {
  if (command?.name === 'auth' || command?.name === 'hello') command.args = [];
}

const LONGEST = 200;

/** The first line of a message, without arguments of commands and where in a script it happened. */
export function oneLine(message: string): string {
  const line = message.split('\n')[0]!.replace(/, with args beginning with.*/, '');
  const short = line.replace(/,? ?script: [0-9a-f]{40}.*/, '').trim();
  return short.length > LONGEST ? `${short.slice(0, LONGEST)}…` : short;
}
