import { Controller, Get } from '@nestjs/common';
import { afterEach, describe, expect, it } from '@jest/globals';
import {
  RateLimitEvents,
  RateLimitExceededException,
  RateLimitModule,
  RateLimitService,
  type RateLimitModuleOptions,
} from '../../lib/index.js';
import { closeApps, FRAMEWORKS, startApp } from '../support/nest-app.js';

@Controller()
class Pages {
  constructor(private readonly limits: RateLimitService) {}

  @Get('page')
  page() {}

  @Get('mail')
  async mail() {
    const decision = await this.limits.consume('mail', 'ann');
    if (!decision.allowed) throw new RateLimitExceededException(decision);
  }
}

Reflect.defineMetadata('design:paramtypes', [RateLimitService], Pages);

afterEach(closeApps);

describe.each(FRAMEWORKS)('a client that reports a 429 on %s', (framework) => {
  /** Returns the second response of a path, and the id of its denial in the event. */
  async function denied(options: RateLimitModuleOptions, path = '/page') {
    const rule = { window: '1m', limit: 1 } as const;
    const app = await startApp(
      {
        imports: [
          RateLimitModule.forRoot({ onDemand: { mail: rule }, rules: { default: rule }, ...options }),
        ],
        controllers: [Pages],
      },
      { framework },
    );
    const ids: (string | undefined)[] = [];
    app.app.get(RateLimitEvents).on('decision', ({ decision }) => ids.push(decision.id));
    await app.get(path);
    const { headers, body } = await app.get(path);
    return { headers, body: JSON.parse(body) as Record<string, unknown>, id: ids.at(-1) };
  }

  it('can name it by the instance of the problem details, which the log has as the id of the decision', async () => {
    const { body, headers, id } = await denied({});
    expect(id).toMatch(/^[\w-]{12}$/);
    expect(body['instance']).toBe(`#${id}`);
    expect(Object.values(headers).join()).not.toContain(id);
  });

  it('can name it by a header if the application chooses one, also where its body has no id', async () => {
    const { body, headers, id } = await denied({ denialIdHeader: 'X-Denial-Id', body: 'nest' });
    expect(body).not.toHaveProperty('instance');
    expect(headers['x-denial-id']).toBe(id);
  });

  it('gets the id in the body that the application makes of the decision', async () => {
    const { body, id } = await denied({ body: (decision) => ({ support: decision.id }) });
    expect(body).toEqual({ support: id });
  });

  it('can name a denial that the application has thrown itself', async () => {
    const { body, headers, id } = await denied({ rules: {}, denialIdHeader: 'x-denial-id' }, '/mail');
    expect(body['instance']).toBe(`#${id}`);
    expect(headers['x-denial-id']).toBe(id);
  });
});
