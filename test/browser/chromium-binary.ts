import { execFile } from 'node:child_process';
import { accessSync, constants, existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';

const PROGRAMS = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
const UNPACK = `import('@sparticuz/chromium').then(({ default: chromium }) => chromium.executablePath())`;

/** The package's own configuration names folders of AWS Lambda and of /tmp. Without a font, a form field never renders. */
const FONTS_CONF = `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir prefix="relative">fonts</dir></fontconfig>
`;

/** A Chromium program, and the environment that it needs. */
export interface ChromiumBinary {
  readonly path: string;
  readonly env: NodeJS.ProcessEnv;
}

/** Returns the Chromium of `CHROMIUM_BIN` or of the PATH, or else unpacks the one in node_modules. */
export async function chromiumBinary(): Promise<ChromiumBinary> {
  const installed = process.env['CHROMIUM_BIN'] ?? onPath();
  return installed ? { path: installed, env: process.env } : unpacked();
}

function onPath(): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  return folders.flatMap((folder) => PROGRAMS.map((name) => join(folder, name))).find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Unpacks the program once for each version, with the libraries and fonts that a machine without a desktop lacks. */
async function unpacked(): Promise<ChromiumBinary> {
  const folder = join(tmpdir(), `chromium-with-fonts-${await versionOfPackage()}`);
  if (!existsSync(folder)) await unpackTo(folder);
  const libraries = [join(folder, 'al2023/lib'), process.env['LD_LIBRARY_PATH']].filter(Boolean).join(':');
  return {
    path: join(folder, 'chromium'),
    env: { ...process.env, LD_LIBRARY_PATH: libraries, FONTCONFIG_PATH: join(folder, 'fonts') },
  };
}

async function versionOfPackage(): Promise<string> {
  const entry = createRequire(import.meta.url).resolve('@sparticuz/chromium');
  const file = join(dirname(entry), '../../package.json');
  return (JSON.parse(await readFile(file, 'utf8')) as { version: string }).version;
}

/** Renamed when complete, so that another worker never starts half a program. */
async function unpackTo(folder: string): Promise<void> {
  const scratch = await mkdtemp(`${folder}-`);
  // The package unpacks into TMPDIR, and its libraries only on AWS Lambda.
  const env = { ...process.env, TMPDIR: scratch, AWS_EXECUTION_ENV: 'AWS_Lambda_nodejs20.x' };
  await promisify(execFile)(process.execPath, ['-e', UNPACK], { cwd: import.meta.dirname, env });
  await writeFile(join(scratch, 'fonts/fonts.conf'), FONTS_CONF);
  await mkdir(dirname(folder), { recursive: true });
  await rename(scratch, folder).catch(() => rm(scratch, { recursive: true, force: true }));
}
