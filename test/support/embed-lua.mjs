import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** Runs once before all specs: writes the Lua files as modules. */
export default function embedLua() {
  const script = fileURLToPath(new URL('../../scripts/embed-lua.mjs', import.meta.url));
  execFileSync(process.execPath, [script], { stdio: 'inherit' });
}
