import type { Algorithm } from '../../../contracts/algorithm.js';
import type { LuaModule } from '../../../contracts/lua-module.js';
import { algorithmLua } from '../../../algorithms/registry.lua.js';
import across from '../across.lua.js';
import adjust from '../adjust.lua.js';
import block from '../block.lua.js';
import call from '../call.lua.js';
import decide from '../decide.lua.js';
import heartbeat from '../heartbeat.lua.js';
import reset from '../reset.lua.js';
import rights from '../rights.lua.js';

const MAINS = { decide, across, adjust, block, reset, heartbeat, rights };

/** The name of the Lua function that a call runs. */
export type ScriptName = keyof typeof MAINS;

export const EVERY_MAIN = Object.keys(MAINS) as readonly ScriptName[];

/** Returns the Lua of some algorithms and functions: each file once, after the files that it needs. */
export function assemble(mains: readonly ScriptName[], algorithms: readonly Algorithm[]): string {
  const inFront = withNeeds([call, ...algorithms.flatMap((each) => luaOf(each).needs)]);
  const behind = withNeeds(mains.map((main) => MAINS[main])).filter((module) => !inFront.includes(module));
  const modules = algorithms.map(
    (each) => `-- ${each.name}\nalgorithms['${each.name}'] = (function()\n${luaOf(each).text}end)()\n`,
  );
  return [...inFront.map(textOf), 'local algorithms = {}\n', ...modules, ...behind.map(textOf)].join('\n');
}

/** Returns a script with only the given algorithms, since each definition in a script has a cost per call. */
export function assembleScript(main: ScriptName, algorithms: readonly Algorithm[]): string {
  return `${assemble([main], algorithms)}\nreturn ${main}(KEYS, ARGV)\n`;
}

/** Returns the files that are needed to decide, adjust, block and reset counters of these algorithms. */
export function modulesOf(algorithms: readonly Algorithm[]): readonly LuaModule[] {
  return withNeeds([call, decide, adjust, block, reset, ...algorithms.map(luaOf)]);
}

/** Returns the Lua file of an algorithm: it has the algorithm's name. */
function luaOf({ name }: Algorithm): LuaModule {
  const lua = algorithmLua[name];
  if (!lua) throw new TypeError(`algorithm ${name} has no file ${name}.lua`);
  return lua;
}

/** Returns the modules and those that they need: each once, after those that it needs. */
function withNeeds(modules: readonly LuaModule[]): LuaModule[] {
  return [...new Set(modules.flatMap((module) => [...withNeeds(module.needs), module]))];
}

function textOf({ text }: LuaModule): string {
  return text;
}

/** Matches the commands in a `redis.call`: one, or one of two. Those in a `redis.pcall` are not required. */
const CALLED = /\bredis\.call(?:\(|, )(?:\w+ and )?'([A-Z]+)'(?: or '([A-Z]+)')?/g;

/**
 * Returns the commands that a server must permit for counters of these algorithms in any state: those that decide,
 * adjust, block and reset.
 */
export function commandsOf(algorithms: readonly Algorithm[]): readonly string[] {
  const calls = modulesOf(algorithms).flatMap(({ text }) => [...text.matchAll(CALLED)]);
  return [...new Set(calls.flatMap(([, ...names]) => names.filter(Boolean)))];
}
