import { Controller, Get } from '@nestjs/common';
import { afterEach, expect, it } from '@jest/globals';
import { RateLimit } from '../../lib/index.js';
import { closeApps } from '../support/nest-app.js';
import { startDashboard } from './dashboard-app.js';

afterEach(closeApps);

@Controller()
class Search {
  @RateLimit({ window: '1h', limit: 2, algorithm: 'fixed-window' })
  @Get('search')
  search() {}
}

it('the snapshot marks the fields of a rule that a handler overrides', async () => {
  const differing = async (controllers = [Search]) => {
    const rules = { default: { window: '1h', limit: 100 } } as const;
    const { rule } = await startDashboard({ controllers, limits: { rules } });
    return (await rule('default')).fields.map(({ name, value, differs }) => [name, value, differs]);
  };
  expect(await differing()).toEqual([
    ['window', '1h', false],
    ['limit', '100', true],
    ['algorithm', 'sliding-window-log', true],
  ]);
  expect(await differing([])).toContainEqual(['limit', '100', false]);
});
