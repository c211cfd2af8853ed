import type { LoggerService } from '@nestjs/common';

type Level = 'log' | 'warn' | 'error';

export interface LogLine {
  readonly level: Level;
  readonly message: string;
  /** The context: the name of the Logger. */
  readonly context: string;
}

const FORM = 'Redis runs the limiter as ';

/** A logger for a Nest application that records the lines. */
export class LogLines implements LoggerService {
  readonly lines: LogLine[] = [];

  log(message: unknown, ...rest: unknown[]): void {
    this.keep('log', message, rest);
  }

  warn(message: unknown, ...rest: unknown[]): void {
    this.keep('warn', message, rest);
  }

  error(message: unknown, ...rest: unknown[]): void {
    this.keep('error', message, rest);
  }

  /** Returns the lines of this package, without the form of the Lua, which every application on Redis logs. */
  ours(): { level: Level; message: string }[] {
    return this.lines
      .filter(({ context, message }) => context === 'RateLimit' && !message.startsWith(FORM))
      .map(({ level, message }) => ({ level, message }));
  }

  /** Returns the lines that state in which form Redis runs the Lua. */
  forms(): string[] {
    return this.lines.filter(({ message }) => message.startsWith(FORM)).map(({ message }) => message);
  }

  private keep(level: Level, message: unknown, rest: readonly unknown[]): void {
    const text = message instanceof Error ? message.message : String(message);
    this.lines.push({ level, message: text, context: String(rest.at(-1) ?? '') });
  }
}
