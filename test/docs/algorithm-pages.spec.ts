import { existsSync, readdirSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { algorithms, type AlgorithmName } from '../../lib/algorithms/registry.js';
import type { BaseStore } from '../../lib/store.js';
import { pathOf, textOf } from '../readme/code-blocks.js';
import { problemsOf } from '../readme/snippet-program.js';
import { membersOf, tableOf } from '../readme/tables.js';
import { STORES, VirtualTime, virtualStore } from '../support/virtual-store.js';
import { examplesOf } from './example.js';
import { replay } from './replay.js';

const names = Object.keys(algorithms) as AlgorithmName[];
const pageOf = (name: AlgorithmName): string => `docs/algorithms/${name}.md`;
const headingsOf = (page: string): string[] => textOf(page).match(/^## .*$/gm) ?? [];

describe('docs/algorithms', () => {
  it('docs/algorithms has a page for each algorithm and no other page', () => {
    const pages = readdirSync(pathOf('docs/algorithms')).filter((file) => file !== 'README.md');
    expect(pages.toSorted()).toEqual(names.map((name) => `${name}.md`).toSorted());
  });

  it('all pages of algorithms have the same headings', () => {
    const [first, ...others] = names.map((name) => headingsOf(pageOf(name)));
    expect(first!.length).toBeGreaterThan(5);
    for (const headings of others) expect(headings).toEqual(first);
  });

  it('the rules on the pages of algorithms compile', () => {
    const blocks = names
      .flatMap((name) => examplesOf(pageOf(name)))
      .map(({ place, code }) => {
        const imports = "import type { ConcurrencyRule, Rule } from 'nestjs-redis-rate-limit'; ";
        return { place, language: 'ts', text: imports + code };
      });
    expect(problemsOf(blocks)).toEqual([]);
  }, 120_000);
});

// The examples on the page are what a reader gets.
describe.each(names)('the page of %s', (name) => {
  const page = pageOf(name);
  const options = Object.keys(algorithms[name].options);

  it('the page of an algorithm lists every option with the default in the source', () => {
    const type = `${name.replace(/(^|-)(\w)/g, (_match, _dash, letter: string) => letter.toUpperCase())}Options`;
    const sources = readdirSync(pathOf(`lib/algorithms/${name}`)).filter((file) => /^[\w-]+\.ts$/.test(file));
    const own = sources.flatMap((file) => [...membersOf(`lib/algorithms/${name}/${file}`, type)]);
    const shared = [
      ...membersOf('lib/algorithms/prefetch-option.ts', 'Prefetchable'),
      ...membersOf('lib/algorithms/burst.ts', 'Overdrawable'),
    ];
    const defaults = new Map([...shared, ...own]);
    const rows = options.length > 0 ? tableOf(page, 'option') : [];
    expect(rows.map(({ option }) => option).toSorted()).toEqual(options.toSorted());
    const stated = rows.map(({ option, default: told }) => [option, told]);
    expect(stated).toEqual(
      rows.map(({ option }) => [option, expect.stringContaining(defaults.get(option!)!)]),
    );
  });

  it('the page of an algorithm has the cost stated in docs/choosing.md', () => {
    const row = tableOf('docs/choosing.md', 'cost of').find((each) => each['cost of'] === name)!;
    const [, cost = ''] = /^## What it costs$(.*?)^## /ms.exec(textOf(page)) ?? [];
    const { 'cost of': _name, ...figures } = row;
    for (const figure of Object.values(figures)) expect(cost).toContain(figure);
  });

  it('the page of an algorithm links only to files that exist', () => {
    const targets = Array.from(textOf(page).matchAll(/\]\((?!https:)([^)#]+)/g), ([, target = '']) => target);
    const broken = targets.filter((target) => !existsSync(new URL(target, `file://${pathOf(page)}`)));
    expect(broken).toEqual([]);
  });
});

describe.each(STORES)('the examples on the %s store', (kind) => {
  const time = new VirtualTime();
  let store: BaseStore;
  beforeAll(() => {
    store = virtualStore(kind, time);
  });
  afterAll(() => store.close());

  it.each(names)('the examples of %s produce the decisions in their tables', async (name) => {
    const examples = examplesOf(pageOf(name));
    expect(examples.length).toBeGreaterThan(0);
    for (const example of examples) {
      expect({ ...example, rows: await replay(example, store, time) }).toEqual(example);
    }
  });
});
