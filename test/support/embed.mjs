import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** Runs once before all specs: writes the Lua files and the operations page as modules. */
export default function embed() {
  for (const name of ['embed-lua', 'embed-page']) {
    const script = fileURLToPath(new URL(`../../scripts/${name}.mjs`, import.meta.url));
    execFileSync(process.execPath, [script], { stdio: 'inherit' });
  }
}
