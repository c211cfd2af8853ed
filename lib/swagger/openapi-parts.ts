import { quoted } from '../contracts/rate-limit-config.error.js';
import type { HeaderStyle } from '../http/headers.js';
import type { RateLimitModuleOptions } from '../nest/rate-limit.options.js';

type Parts = Record<string, unknown>;

const INTEGER = { type: 'integer', minimum: 0 };
const TEXT = { type: 'string' };

const text = (description: string): Parts => ({ description, schema: TEXT });
const integer = (description: string): Parts => ({ description, schema: INTEGER });

const POLICY = text('The limits of the operation, each with its window in seconds.');

const NAMED = {
  'RateLimit-Policy': text('The limits of the operation: `q` permits per `w` seconds.'),
  RateLimit: text('The permits that are left, `r`, until `t` seconds from now.'),
};

const HEADERS: Readonly<Record<HeaderStyle, Readonly<Record<string, Parts>>>> = {
  'draft-10': NAMED,
  draft: NAMED,
  'draft-12': {
    ...NAMED,
    RateLimit: text(
      'The permits that are left, `a`, until `w` seconds from now, and the cost of the request, `c`.',
    ),
    'RateLimit-Partition': text('What each limit counts by, where a client knows it.'),
  },
  'draft-7': {
    'RateLimit-Policy': POLICY,
    RateLimit: text('Limit, remaining permits, and seconds until the full limit is available.'),
  },
  'draft-6': {
    'RateLimit-Policy': POLICY,
    ...limitHeaders('RateLimit', 'Seconds until the full limit is available.'),
  },
  legacy: limitHeaders('X-RateLimit', 'Unix time in seconds at which the full limit is available.'),
  throttler: limitHeaders('X-RateLimit', 'Seconds until the full limit is available.'),
};

function limitHeaders(prefix: string, reset: string): Readonly<Record<string, Parts>> {
  return {
    [`${prefix}-Limit`]: integer('Permits per window.'),
    [`${prefix}-Remaining`]: integer('Permits that are left.'),
    [`${prefix}-Reset`]: integer(reset),
  };
}

const RETRY_AFTER = integer('Seconds until the request would be allowed.');

/** Schema of the problem details that a denied request gets. */
const PROBLEM = {
  type: 'object',
  required: ['type', 'title', 'status', 'detail', 'violated-policies', 'retryAfterMs'],
  properties: {
    type: { type: 'string', format: 'uri' },
    title: TEXT,
    status: { type: 'integer' },
    detail: { type: 'string', description: 'The rules that denied the request, and how long to wait.' },
    'violated-policies': {
      type: 'array',
      items: TEXT,
      description: 'Names of the rules, the strictest first.',
    },
    instance: {
      type: 'string',
      format: 'uri-reference',
      description: 'The id of the denial: `#` and 12 characters.',
    },
  },
};

const NEST_BODY = {
  type: 'object',
  required: ['statusCode', 'message', 'error'],
  properties: { statusCode: { type: 'integer' }, message: TEXT, error: TEXT },
};

/** The schemas and responses of denied requests, by the options of the module. */
export class OpenApiParts {
  readonly headers: Readonly<Record<string, Parts>>;

  /** @param isVersion30 whether the document is OpenAPI 3.0, where `null` is no type */
  constructor(
    private readonly options: RateLimitModuleOptions,
    private readonly isVersion30: boolean,
  ) {
    const { headers = 'draft-10' } = options;
    const styles: readonly HeaderStyle[] = headers === false ? [] : [headers].flat();
    this.headers = Object.fromEntries(styles.flatMap((style) => Object.entries(HEADERS[style])));
  }

  /** The schemas by name, for `components.schemas`. */
  schemas(): Parts {
    const retryAfterMs = {
      ...(this.isVersion30 ? { type: 'integer', nullable: true } : { type: ['integer', 'null'] }),
      description: 'Milliseconds until the same request would be allowed; null if it never would.',
    };
    return this.options.body === 'nest'
      ? { RateLimitError: NEST_BODY }
      : { RateLimitProblem: { ...PROBLEM, properties: { ...PROBLEM.properties, retryAfterMs } } };
  }

  /** The response to a request that a rule denies. */
  denied(rules: readonly string[]): Parts {
    return {
      description: `Too many requests: denied by the rate limit ${quoted(rules)}.`,
      headers: { 'Retry-After': RETRY_AFTER, ...this.headers },
      content: typeof this.options.body === 'function' ? { 'application/json': {} } : this.content(),
    };
  }

  /** The response while the limits cannot be checked. */
  unavailable(): Parts {
    return {
      description: 'The rate limit cannot be checked at the moment.',
      headers: { 'Retry-After': RETRY_AFTER },
      content: this.content(),
    };
  }

  private content(): Parts {
    const [type, name] =
      this.options.body === 'nest'
        ? ['application/json', 'RateLimitError']
        : ['application/problem+json', 'RateLimitProblem'];
    return { [type]: { schema: { $ref: `#/components/schemas/${name}` } } };
  }
}
