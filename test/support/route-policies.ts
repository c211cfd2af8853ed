import type { Type } from '@nestjs/common';
import { RateLimitModule, type RateLimitModuleOptions } from '../../lib/index.js';
import { startApp, type Framework } from './nest-app.js';

/**
 * Returns the `RateLimit-Policy` of the routes of these controllers. Sends one request to each, which must return
 * 200.
 */
export async function policiesOf(
  framework: Framework,
  controllers: Type[],
  paths: readonly string[],
  options: RateLimitModuleOptions = {},
): Promise<(string | undefined)[]> {
  const metadata = { imports: [RateLimitModule.forRoot(options)], controllers };
  const { get } = await startApp(metadata, { framework });
  const found: (string | undefined)[] = [];
  for (const path of paths) {
    const { status, headers } = await get(path);
    if (status !== 200) throw new Error(`${path} answers ${status}`);
    found.push(headers['ratelimit-policy']);
  }
  return found;
}
