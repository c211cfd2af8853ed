import type { Algorithm } from '../../contracts/algorithm.js';
import type { LuaModule } from '../../contracts/lua-module.js';
import adjust from './adjust.lua.js';
import block from './block.lua.js';
import call from './call.lua.js';
import decide from './decide.lua.js';
import heartbeat from './heartbeat.lua.js';
import libraries from './libraries.lua.js';
import reset from './reset.lua.js';
import rights from './rights.lua.js';

const MAINS = { decide, adjust, block, reset, heartbeat, libraries, rights };

/** What a call runs: the Lua function of this name. */
export type Main = keyof typeof MAINS;

export const EVERY_MAIN = Object.keys(MAINS) as readonly Main[];

/** The Lua of some functions and of the algorithms in front of them, each file once and behind those that it needs. */
export function assemble(mains: readonly Main[], algorithms: readonly Algorithm[]): string {
  const inFront = withNeeds([call, ...algorithms.flatMap(({ lua }) => lua.needs)]);
  const behind = withNeeds(mains.map((main) => MAINS[main])).filter((module) => !inFront.includes(module));
  const modules = algorithms.map(
    ({ name, lua }) => `-- ${lua.name}\nalgorithms['${name}'] = (function()\n${lua.text}end)()\n`,
  );
  return [...inFront.map(textOf), 'local algorithms = {}\n', ...modules, ...behind.map(textOf)].join('\n');
}

/** A script that serves the given algorithms, and no others: what it need not define costs nothing. */
export function assembleScript(main: Main, algorithms: readonly Algorithm[]): string {
  return `${assemble([main], algorithms)}\nreturn ${main}(KEYS, ARGV)\n`;
}

/** The files without which requests of these algorithms cannot be decided, adjusted, blocked and reset. */
export function modulesOf(algorithms: readonly Algorithm[]): readonly LuaModule[] {
  return withNeeds([call, decide, adjust, block, reset, ...algorithms.map(({ lua }) => lua)]);
}

/** The modules, each once and behind those that it needs. */
function withNeeds(modules: readonly LuaModule[]): LuaModule[] {
  return [...new Set(modules.flatMap((module) => [...withNeeds(module.needs), module]))];
}

function textOf({ text }: LuaModule): string {
  return text;
}
