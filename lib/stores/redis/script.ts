import type { Algorithm } from '../../contracts/algorithm.js';
import type { LuaModule } from '../../contracts/lua-module.js';
import adjust from './adjust.lua.js';
import block from './block.lua.js';
import decide from './decide.lua.js';
import heartbeat from './heartbeat.lua.js';
import loneState from './lone-state.lua.js';
import lone from './lone.lua.js';
import reset from './reset.lua.js';
import rights from './rights.lua.js';
import states from './states.lua.js';

const MAINS = { decide, adjust, block, reset, heartbeat, lone, rights };

/** What a script does with the algorithms in front of it. */
export type ScriptMain = keyof typeof MAINS;

/**
 * The Lua that serves the given algorithms, and no others: what it need not define costs nothing. In front stands
 * what every algorithm may use: the time, the forms of numbers, and `get` for a state that is a string.
 */
export function assembleScript(main: ScriptMain, algorithms: readonly Algorithm[]): string {
  const inFront = withNeeds([
    main === 'lone' ? loneState : states,
    ...algorithms.flatMap(({ lua }) => lua.needs),
  ]);
  const behind = withNeeds([MAINS[main]]).filter((module) => !inFront.includes(module));
  const modules = algorithms.map(
    ({ lua: { name, text } }, index) => `-- ${name}\nalgorithms[${index + 1}] = (function()\n${text}end)()\n`,
  );
  return [...inFront.map(textOf), 'local algorithms = {}\n', ...modules, ...behind.map(textOf)].join('\n');
}

/** What the scripts consist of without which requests of these algorithms cannot be decided, adjusted, blocked and reset. */
export function modulesOf(algorithms: readonly Algorithm[]): readonly LuaModule[] {
  return withNeeds([decide, adjust, block, reset, loneState, lone, ...algorithms.map(({ lua }) => lua)]);
}

/** The modules, each once and behind those that it needs. */
function withNeeds(modules: readonly LuaModule[]): LuaModule[] {
  return [...new Set(modules.flatMap((module) => [...withNeeds(module.needs), module]))];
}

function textOf({ text }: LuaModule): string {
  return text;
}
