import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import { pathOf } from '../readme/code-blocks.js';

const PLACE = {
  repository: 'https://code.test/limits/nestjs-redis-rate-limit',
  homepage: 'https://limits.test/',
  bugs: 'https://code.test/limits/nestjs-redis-rate-limit/issues',
  site: 'https://limits.test/docs',
  owners: ['@limits/maintainers'],
  security: 'security@limits.test',
};

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'release-'));
  mkdirSync(join(folder, '.github'));
  for (const path of ['package.json', 'project.json', 'SECURITY.md', '.github/CODEOWNERS']) {
    cpSync(pathOf(path), join(folder, path));
  }
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function check(place?: object, ...args: string[]): string {
  if (place) writeFileSync(join(folder, 'project.json'), JSON.stringify(place));
  const { status, stderr } = spawnSync(process.execPath, [pathOf('scripts/check-release.mjs'), ...args], {
    cwd: folder,
    encoding: 'utf8',
  });
  return status === 0 ? 'ready' : stderr;
}

describe('the release check', () => {
  it('refuses to publish without the place of the repository', () => {
    const output = check({ ...PLACE, repository: '', owners: [], security: undefined });
    expect(output).toContain('project.json: repository is ""; allowed: the https address of the repository');
    expect(output).toContain('project.json: owners is []');
    expect(output).toContain('project.json: security is undefined');
  });

  it.each([
    ['repository', 'https://github.com/OWNER/nestjs-redis-rate-limit'],
    ['homepage', 'https://example.com/'],
    ['site', 'http://limits.test/'],
    ['bugs', 'https://<host>/issues'],
    ['security', 'security@example.com'],
    ['owners', ['@your-team']],
  ])('refuses to publish with a placeholder: %s', (name, value) => {
    expect(check({ ...PLACE, [name]: value })).toContain(`project.json: ${name} is `);
  });

  it('refuses to publish while other files have another place, and can write it into them', () => {
    const output = check(PLACE);
    expect(output).toContain('package.json: has another place than project.json');
    expect(output).toContain('SECURITY.md: has another place');
    expect(check(PLACE, '--write')).toBe('ready');
    expect(check(PLACE)).toBe('ready');
    expect(readFileSync(join(folder, '.github/CODEOWNERS'), 'utf8')).toMatch(
      /^#.*\n\* @limits\/maintainers\n$/,
    );
    expect(readFileSync(join(folder, 'SECURITY.md'), 'utf8')).toContain(
      'Report a vulnerability to security@limits.test.',
    );
    expect(JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))).toMatchObject({
      repository: { type: 'git', url: 'git+https://code.test/limits/nestjs-redis-rate-limit.git' },
      bugs: { url: PLACE.bugs },
    });
  });
});
