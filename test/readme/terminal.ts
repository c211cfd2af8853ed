import type { CodeBlock } from './code-blocks.js';

/** A command of a terminal session, and its expected output. */
export interface Command {
  readonly place: string;
  readonly line: string;
  readonly prints: string;
}

/** Commands that belong together: those up to the next `npm start`, which starts the application for them. */
export interface Session {
  readonly start: Command;
  readonly curls: readonly Command[];
  /** Those that run a client of the sample application. */
  readonly clients: readonly Command[];
}

/**
 * The commands of a block. In `console`, a command follows `$ `, and the lines below it are its output. In `sh`,
 * every line is a command, and the comment at its end is its output.
 */
export function commandsOf({ place, language, text }: CodeBlock): Command[] {
  if (language === 'sh') {
    return text.split('\n').map((line) => {
      const [, command = '', prints = ''] = /^([^#]*?)(?: *# (.*))?$/.exec(line) ?? [];
      return { place, line: command, prints };
    });
  }
  return text
    .split(/^\$ /m)
    .slice(1)
    .map((chunk) => {
      const [line = '', ...output] = chunk.trimEnd().split('\n');
      return { place, line, prints: output.join('\n') };
    });
}

/**
 * Returns the sessions in blocks, from top to bottom, without lines that neither start the application nor send
 * requests.
 */
export function sessionsOf(blocks: readonly CodeBlock[]): Session[] {
  const sessions: { start: Command; curls: Command[]; clients: Command[] }[] = [];
  for (const command of blocks.flatMap(commandsOf)) {
    if (command.line.endsWith('npm start')) sessions.push({ start: command, curls: [], clients: [] });
    else if (command.line.startsWith('curl ')) sessions.at(-1)!.curls.push(command);
    else if (command.line.startsWith('node sample-app/clients/')) sessions.at(-1)!.clients.push(command);
  }
  return sessions;
}

/** The variables before a command: `A=1 B=2 npm start`. */
export function variablesOf({ line }: Command): Record<string, string> {
  const assignments = line.matchAll(/\b([A-Z_]+)=(\S*) /g);
  return Object.fromEntries(Array.from(assignments, ([, name = '', value = '']) => [name, value]));
}
