import { isFields } from '../contracts/fields.js';

/** Returns the equivalent of a value of another rate limiter: code, or a description. */
type Fix = (value: unknown) => string;

const by: Fix = () => 'by: "ip", "user" or a function of the ExecutionContext';

/** Equivalents of the rule fields of @nestjs/throttler, rate-limiter-flexible, express-rate-limit, @fastify/rate-limit. */
const FIXES: Readonly<Record<string, Fix>> = {
  ttl: length('window'),
  windowMs: length('window', 1),
  timeWindow: length('window', 1),
  duration: length('window', 1000),
  blockDuration: length('block'),
  max: (value) => `limit: ${code(value)}`,
  points: (value) => `limit: ${code(value)}`,
  getTracker: by,
  keyGenerator: by,
  generateKey: by,
  skip: () => 'skipIf: a function of the ExecutionContext',
  skipSuccessfulRequests: () => 'count: "failures"',
  skipFailedRequests: () => 'count: "successes"',
  execEvenly: () => 'algorithm: "leaky-bucket"',
};

/** Suggests what to write instead of a field of another rate limiter, or of a route; `undefined` if the field is of none of these. */
export function foreignFix(field: string, value: unknown): string | undefined {
  if (field === 'by') return 'write the subject as an argument';
  if (Object.hasOwn(FIXES, field)) return `write ${FIXES[field]!(value)}`;
  if (!isFields(value) || !Object.keys(value).some(isOfRule)) return undefined;
  const name = field === 'default' ? '' : `name: ${code(field)}, `;
  return `a rule is one object, with its name in \`name\`: write { ${name}${translated(value)} }`;
}

function isOfRule(field: string): boolean {
  return field === 'limit' || Object.hasOwn(FIXES, field);
}

/** Translates the fields of a rule of another rate limiter to code for this one. */
export function translated(fields: object): string {
  return Object.entries(fields)
    .map(([field, value]) =>
      Object.hasOwn(FIXES, field) ? FIXES[field]!(value) : `${field}: ${code(value)}`,
    )
    .join(', ');
}

/** @param unit milliseconds per unit of a number; absent if some rate limiters use seconds and others milliseconds */
function length(name: string, unit?: number): Fix {
  return (value) => {
    if (typeof value !== 'number') return `${name}: ${typeof value === 'function' ? '…' : '"1m"'}`;
    if (unit !== undefined || value >= 1000) return `${name}: "${inUnits(value * (unit ?? 1))}"`;
    return `${name}: "${value}s" or ${name}: "${value}ms"`;
  };
}

function inUnits(milliseconds: number): string {
  return milliseconds % 1000 === 0 ? `${milliseconds / 1000}s` : `${milliseconds}ms`;
}

function code(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? JSON.stringify(value) : '…';
}
