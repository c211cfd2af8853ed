import type { Algorithm } from '../../contracts/algorithm.js';
import amend from './amend.lua.js';
import announce from './announce.lua.js';
import block from './block.lua.js';
import decide from './decide.lua.js';
import heartbeat from './heartbeat.lua.js';
import loneState from './lone-state.lua.js';
import lone from './lone.lua.js';
import prologue from './prologue.lua.js';
import protocol from './protocol.lua.js';
import requests from './requests.lua.js';
import reset from './reset.lua.js';
import states from './states.lua.js';

const MAINS = {
  decide: requests + decide,
  amend: announce + amend,
  block: announce + block,
  reset: announce + reset,
  heartbeat,
  lone,
};

/** What a script does with the algorithms in front of it. */
export type ScriptMain = keyof typeof MAINS;

/** The Lua that serves the given algorithms, and no others: what it need not define costs nothing. */
export function assembleScript(main: ScriptMain, algorithms: readonly Algorithm[]): string {
  const preludes = new Set(algorithms.map(({ prelude }) => prelude).filter((text) => text !== undefined));
  const modules = algorithms.map(
    ({ name, lua }, index) => `-- ${name}\nalgorithms[${index + 1}] = (function()\n${lua}end)()\n`,
  );
  const [state, reader] = main === 'lone' ? [loneState, ''] : [states, protocol];
  const parts = [prologue, state, ...preludes, 'local algorithms = {}\n', ...modules, reader, MAINS[main]];
  return parts.join('\n');
}
