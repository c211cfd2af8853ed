import type { Warnings } from '../warnings.js';

/** Warns if the option `cors` sets the headers of CORS after the rule is applied: browsers cannot read its denials. */
export function warnOfLateCors(cors: unknown, name: string, warnings: Warnings): void {
  if (!cors) return;
  warnings.warn(
    'RL_CORS_AFTER_LIMIT',
    `A 429 of limitBeforeRouting("${name}") has no CORS headers, so that browsers cannot read it, since the option \`cors\` of ` +
      'NestFactory.create() sets them later. Remove the option, and call app.enableCors() before limitBeforeRouting().',
  );
}

interface Headed {
  getHeader(name: string): number | string | string[] | undefined;
}

/** Warns if a response to another origin exposes no header of rate limits to the code of its page. */
export function warnOfUnexposed(response: Headed, warnings: Warnings): void {
  const exposed = String(response.getHeader('access-control-expose-headers') ?? '').toLowerCase();
  const isShared = response.getHeader('access-control-allow-origin') !== undefined;
  if (!isShared || exposed === '*' || /ratelimit|retry-after/.test(exposed)) return;
  warnings.warn(
    'RL_HEADERS_UNEXPOSED',
    'Code in browsers cannot read RateLimit and Retry-After of a response to another origin, since CORS does not expose them. ' +
      "Set exposedHeaders: ['RateLimit', 'RateLimit-Policy', 'Retry-After'] in enableCors().",
  );
}
