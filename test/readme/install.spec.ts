import { describe, expect, it } from '@jest/globals';
import { codeBlocks } from './code-blocks.js';

/** The packages of every Nest application. */
const OF_NEST = ['@nestjs/common', '@nestjs/core'];

describe('the installation in README.md', () => {
  it('lists every package that the first snippet imports', () => {
    const [install] = codeBlocks('README.md', 'sh');
    const [first] = codeBlocks('README.md', 'ts');
    const installed = /^npm i (.*)$/m.exec(install!.text)![1]!.split(' ');
    const imported = [...first!.text.matchAll(/from '([^']+)'/g)].map(([, name]) => name!);
    expect(imported.filter((name) => !installed.includes(name) && !OF_NEST.includes(name))).toEqual([]);
    expect(installed).toContain('ioredis');
  });
});

describe('the health check in docs/operations.md', () => {
  it('imports the module whose service it injects', () => {
    const text = codeBlocks('docs/operations.md', 'ts').find((block) =>
      block.text.includes('HealthCheckService'),
    )!.text;
    expect(text).toMatch(/imports: \[.*TerminusModule/);
  });
});
