import type { RecordedCommand } from './record-commands.js';

/**
 * Whether the servers of this run have functions: `RL_FUNCTIONS=off` starts them without, `RL_FUNCTIONS=none` is for
 * a server that does not support them.
 */
export const hasFunctions = !['off', 'none'].includes(process.env.RL_FUNCTIONS ?? '');

/** The commands that call the limiter's Lua. */
export const LUA_COMMAND = hasFunctions ? 'fcall' : 'evalsha';

/** The commands that ran the limiter's Lua. */
export function luaCalls(commands: readonly RecordedCommand[]): readonly RecordedCommand[] {
  return commands.filter(({ name }) => ['fcall', 'evalsha', 'eval'].includes(name));
}
