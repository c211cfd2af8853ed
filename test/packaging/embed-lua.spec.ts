import { afterAll, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const SCRIPT = new URL('../../scripts/embed-lua.mjs', import.meta.url).pathname;
const folders: string[] = [];

/** Embeds Lua files with these names and texts; returns the folder. */
async function embed(files: Record<string, string>): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'embed-lua-'));
  folders.push(folder);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  await promisify(execFile)(process.execPath, [SCRIPT, folder]);
  return folder;
}

describe('scripts/embed-lua.mjs', () => {
  afterAll(() => folders.forEach((folder) => rmSync(folder, { recursive: true })));

  it('embed-lua writes a Lua file as a module that imports the files it needs, in order', async () => {
    const folder = await embed({
      'gcra.lua': '-- Limits.\n-- @needs rate, backlog\n',
      'rate.lua': '',
      'backlog.lua': '',
    });
    const source = readFileSync(join(folder, 'gcra.lua.ts'), 'utf8');
    expect(source).toContain("import need0 from './rate.lua.js';\nimport need1 from './backlog.lua.js';\n");
    expect(source).toContain("name: 'gcra',\n  needs: [need0, need1],\n");
  });

  it('embed-lua fails and names the file when a Lua file needs a missing one', async () => {
    const embedded = embed({ 'gcra.lua': '-- @needs rates\n', 'rate.lua': '' });
    await expect(embedded).rejects.toThrow('gcra.lua needs "rates", but no Lua file has that name');
  });

  it('embed-lua fails and names the files when Lua files need one another', async () => {
    const embedded = embed({ 'a.lua': '-- @needs b\n', 'b.lua': '-- @needs c\n', 'c.lua': '-- @needs b\n' });
    await expect(embedded).rejects.toThrow('Lua files need one another: a -> b -> c -> b');
  });
});
