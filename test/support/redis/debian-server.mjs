import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findProgram } from './redis-binary.mjs';

const CACHE = fileURLToPath(new URL('../../../.cache/redis-servers/', import.meta.url));
const KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg';

/** Packages that a server needs in addition to its own. The other dependencies of apt are for an installed system. */
const NEEDED = /^(lib(?!js)|zlib|redis|valkey|prometheus$)/;

/**
 * Downloads a server package of Debian or Ubuntu and unpacks it, with its libraries, into a cache folder of the
 * project. It needs no root, and changes nothing outside that folder.
 *
 * @param {{ package: string, program: string, release?: string }} server `release`: a Debian release such as
 *   `trixie`; this machine's own sources unless given
 * @returns {string} a program that starts the server
 * @throws Error if this machine has no apt, or a package cannot be downloaded
 */
export function unpackDebianServer({ package: name, program, release }) {
  const folder = join(CACHE, release ? `${name}-${release}` : name);
  const executable = join(folder, program);
  if (existsSync(executable)) return executable;
  if (!findProgram('apt-get') || !findProgram('dpkg-deb'))
    throw new Error('This system has no apt packages.');
  const building = `${folder}.${process.pid}`;
  try {
    const apt = prepareApt(building, release);
    const packages = apt(['install', '--print-uris', '-qq', '-y', '--no-install-recommends', name])
      .split('\n')
      .map((line) => line.split(' ')[1]?.split('_')[0] ?? '')
      .filter((each) => NEEDED.test(each));
    apt(['download', '-qq', ...packages], join(building, 'packages'));
    unpack(building);
    writeProgram(building, folder, program);
    rmSync(folder, { recursive: true, force: true });
    renameSync(building, folder);
  } catch (error) {
    rmSync(building, { recursive: true, force: true });
    throw error;
  }
  return executable;
}

/** Runs apt-get with separate lists and a separate cache, as if no package were installed. */
function prepareApt(folder, release) {
  for (const each of ['lists/partial', 'cache/archives/partial', 'packages', 'root']) {
    mkdirSync(join(folder, each), { recursive: true });
  }
  writeFileSync(join(folder, 'status'), '');
  const options = {
    'Dir::State': folder,
    'Dir::State::lists': join(folder, 'lists'),
    'Dir::State::status': join(folder, 'status'),
    'Dir::Cache': join(folder, 'cache'),
    'APT::Sandbox::User': '',
    ...(release && sourcesOf(folder, release)),
  };
  const flags = Object.entries(options).flatMap(([name, value]) => ['-o', `${name}=${value}`]);
  const apt = (args, cwd = folder) =>
    execFileSync('apt-get', [...flags, ...args], {
      cwd,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  try {
    apt(['update', '-qq']);
  } catch (error) {
    // One of several repositories may be unreachable, while the needed one is available.
    if (!/^[EW]: .*(fetch|download)/im.test(String(error.stderr))) throw error;
  }
  return apt;
}

/** The sources of another Debian release, from the mirror that this machine already uses. */
function sourcesOf(folder, release) {
  const format = '$(REPO_URI) $(ORIGIN) $(CODENAME)';
  const targets = execFileSync('apt-get', ['indextargets', '--format', format], { encoding: 'utf8' });
  const [uri] = /^(\S+) Debian \w+$/m.exec(targets)?.slice(1) ?? [];
  if (!uri || !existsSync(KEYRING)) throw new Error(`Debian ${release} can be had on Debian only.`);
  const sources = join(folder, 'debian.sources');
  const fields = [
    'Types: deb',
    `URIs: ${uri}`,
    `Suites: ${release}`,
    'Components: main',
    `Signed-By: ${KEYRING}`,
  ];
  writeFileSync(sources, `${fields.join('\n')}\n`);
  return { 'Dir::Etc::sourcelist': sources, 'Dir::Etc::sourceparts': '/dev/null' };
}

function unpack(folder) {
  const script = 'for package in packages/*.deb; do dpkg-deb -x "$package" root || exit 1; done';
  execFileSync('sh', ['-c', script], { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] });
  for (const each of ['lists', 'cache', 'packages', 'status'])
    rmSync(join(folder, each), { recursive: true });
}

/** The server runs on the C library it was built for, whatever this machine has. */
function writeProgram(building, folder, program) {
  const find = 'find root -name "ld-linux*.so.*" -o -name "libc.so.6" | sort';
  const found = execFileSync('sh', ['-c', find], { cwd: building, encoding: 'utf8' }).trim().split('\n');
  const loader = found.find((path) => path.includes('ld-linux'));
  const libraries = dirname(found.find((path) => path.endsWith('libc.so.6')) ?? '');
  const usr = join('root', 'usr', libraries.slice(libraries.indexOf('lib')));
  const path = [libraries, usr].map((each) => join('$here', each)).join(':');
  // Paths are relative to the program, because the project's folder may be moved or copied.
  const lines = [
    '#!/bin/sh',
    'here=$(cd "$(dirname "$0")" && pwd)',
    `exec "$here/${loader}" --argv0 ${program} --library-path "${path}" "$here/root/usr/bin/${program}" "$@"`,
  ];
  const file = join(building, program);
  writeFileSync(file, `${lines.join('\n')}\n`);
  chmodSync(file, 0o755);
}
