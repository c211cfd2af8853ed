import type { Algorithm } from '../../contracts/algorithm.js';
import type { LuaModule } from '../../contracts/lua-module.js';
import { modulesOf } from './script.js';

/** Matches the commands in a `redis.call`: one, or one of two. Those in a `redis.pcall` are not required. */
const CALLED = /\bredis\.call(?:\(|, )(?:\w+ and )?'([A-Z]+)'(?: or '([A-Z]+)')?/g;

const known = new WeakMap<LuaModule, readonly string[]>();

/**
 * Returns the commands that a server must permit for counters of these algorithms in any state: those that decide,
 * adjust, block and reset.
 */
export function commandsOf(algorithms: readonly Algorithm[]): readonly string[] {
  return [...new Set(modulesOf(algorithms).flatMap(commandsIn))];
}

function commandsIn(module: LuaModule): readonly string[] {
  let commands = known.get(module);
  if (!commands) {
    commands = [...module.text.matchAll(CALLED)].flatMap(([, ...names]) => names.filter(Boolean));
    known.set(module, commands);
  }
  return commands;
}
