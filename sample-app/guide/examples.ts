/** A line to try in a terminal. curl repeats a request for each number of `[1-6]`. */
export interface Example {
  readonly shows: string;
  readonly curl: string;
  readonly prints: string;
}

const codes = "curl -s -o /dev/null -w '%{http_code} '";

export const EXAMPLES: readonly Example[] = [
  {
    shows: 'Login: five failed attempts per minute, by IP (sliding-window-log).',
    curl: `${codes} -d user=ada -d password=guess 'localhost:3000/login?[1-6]'`,
    prints: '401 401 401 401 401 429',
  },
  {
    shows: 'The full response of a denial.',
    curl: 'curl -i -d user=ada -d password=lovelace localhost:3000/login',
    prints: '429',
  },
  {
    shows: 'Orders: three at once for each user (token-bucket).',
    curl: `${codes} -X POST -H 'Authorization: Bearer ada' 'localhost:3000/orders?[1-4]'`,
    prints: '201 201 201 429',
  },
  {
    shows: 'Another user has a separate bucket.',
    curl: `${codes} -X POST -H 'Authorization: Bearer grace' localhost:3000/orders`,
    prints: '201',
  },
  {
    shows: 'Search: five at once, then one every two seconds (gcra).',
    curl: `${codes} 'localhost:3000/search?q=tea&[1-6]'`,
    prints: '200 200 200 200 200 429',
  },
  {
    shows: 'Export: ten permits per hour, one for every 100 rows (fixed-window).',
    curl: `${codes} -H 'Authorization: Bearer ada' 'localhost:3000/export?rows=400&[1-3]'`,
    prints: '200 200 429',
  },
  {
    shows: 'Reports: three rules, decided together (token-bucket, sliding-window-counter, fixed-window).',
    curl: `${codes} 'localhost:3000/reports?[1-4]'`,
    prints: '200 200 200 429',
  },
  {
    shows: 'Geocode: eight outbound calls that wait for permits, five per second (leaky-bucket).',
    curl: 'curl -i localhost:3000/geocode',
    prints: '200',
  },
  {
    shows: 'GraphQL: three queries at once; a denied one has the status 429, since no field has data (gcra).',
    curl: `${codes} -H 'Content-Type: application/json' -d '{"query":"{ catalog }"}' 'localhost:3000/graphql?[1-4]'`,
    prints: '200 200 200 429',
  },
  {
    shows: 'Health: no limit.',
    curl: `${codes} 'localhost:3000/health?[1-9]'`,
    prints: '200 200 200 200 200 200 200 200 200',
  },
];
