import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { applicationName } from './create-store.js';

describe('the name of an application', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'application-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const write = (path: string, content: string) => {
    mkdirSync(join(folder, path, '..'), { recursive: true });
    writeFileSync(join(folder, path), content);
  };

  it('is that of the nearest package.json above the program which has a name', () => {
    write('shop/package.json', '{"name":"@acme/shop","version":"1.0.0"}');
    write('shop/dist/package.json', '{"type":"module"}');
    expect(applicationName(join(folder, 'shop/dist/main.js'), folder)).toBe('@acme/shop');
  });

  it('is that of the working directory if the program is installed, unknown, or has none', () => {
    write('package.json', '{"name":"blog"}');
    write('node_modules/jest/package.json', '{"name":"jest"}');
    for (const program of [join(folder, 'node_modules/jest/bin/jest.js'), undefined, '/nowhere/main.js']) {
      expect(applicationName(program, folder)).toBe('blog');
    }
  });

  it.each([['no file'], ['{"name":"x'], ['{"name":7}'], ['{"name":"\\n"}']])('is none with %s', (content) => {
    if (content !== 'no file') write('package.json', content);
    expect(applicationName(undefined, folder)).toBeUndefined();
  });
});
