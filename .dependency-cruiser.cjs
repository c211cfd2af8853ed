// The arrows of the house: index -> nest -> limiter -> layers -> rules -> algorithms -> contracts; nest -> http, stores;
// http, stores -> contracts. What each folder may not import, and why.
const SPEC = '[.]spec[.]ts$';
const RUNNERS = '^lib/testing/(jest|vitest)[.]ts$';
/** Parts that need Nest, and that an application may do without. */
const BESIDE_NEST = 'transports|live|swagger|throttler|dashboard';
const DRAWER = '((^|[/.-])(utils?|helpers?|common|misc)|(^|[/.])types)([./]|$)';

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    {
      name: 'contracts-import-nothing',
      comment:
        'Contracts are what all folders agree on. If they knew one of them, every other one would depend on it.',
      severity: 'error',
      from: { path: '^lib/contracts/', pathNot: SPEC },
      to: { pathNot: '^lib/contracts/' },
    },
    {
      name: 'algorithms-import-contracts-only',
      comment:
        'An algorithm is arithmetic on a state. It knows no rule, request or store, so that it runs in each of them.',
      severity: 'error',
      from: { path: '^lib/algorithms/', pathNot: SPEC },
      to: { path: '^lib/', pathNot: '^lib/(algorithms|contracts)/' },
    },
    {
      name: 'algorithms-stay-apart',
      comment:
        'Each algorithm is one folder, to be added, read and deleted alone. What two of them share lies beside the folders.',
      severity: 'error',
      from: { path: '^lib/algorithms/([^/]+)/', pathNot: SPEC },
      to: { path: '^lib/algorithms/[^/]+/', pathNot: '^lib/algorithms/$1/' },
    },
    {
      name: 'only-the-registry-lists-algorithms',
      comment:
        'What algorithms share must not know one of them, and whoever wants one asks the registry: adding one is a folder and a line.',
      severity: 'error',
      from: {
        path: '^lib/',
        pathNot: ['^lib/algorithms/(known|registry([.]lua)?)[.]ts$', '^lib/algorithms/[^/]+/', SPEC],
      },
      to: { path: '^lib/algorithms/[^/]+/' },
    },
    {
      name: 'stores-import-contracts-only',
      comment:
        'A store runs any algorithm and names none, so that a new algorithm changes no store and a new store no algorithm. The library of Redis functions takes all that the registry lists.',
      severity: 'error',
      from: { path: '^lib/stores/', pathNot: [SPEC, '^lib/stores/redis/wire/(library|script)[.]ts$'] },
      to: { path: '^lib/', pathNot: '^lib/(stores|contracts)/' },
    },
    {
      name: 'stores-stay-apart',
      comment: 'Memory must work where Redis is not, and neither is a special case of the other.',
      severity: 'error',
      from: { path: '^lib/stores/([^/]+)/', pathNot: SPEC },
      to: { path: '^lib/stores/[^/]+/', pathNot: '^lib/stores/$1/' },
    },
    {
      name: 'the-connection-knows-no-calls',
      comment:
        'The rooms of the Redis store depend one way: the breaker decides about calls, calls are sent on connections.',
      severity: 'error',
      from: { path: '^lib/stores/redis/link/', pathNot: SPEC },
      to: { path: '^lib/stores/redis/(wire|breaker|rule-source)/' },
    },
    {
      name: 'calls-know-no-breaker',
      comment: 'A call is the same with and without a circuit breaker around it.',
      severity: 'error',
      from: { path: '^lib/stores/redis/wire/', pathNot: SPEC },
      to: { path: '^lib/stores/redis/(breaker|rule-source)/' },
    },
    {
      name: 'http-imports-contracts-only',
      comment:
        'Subjects, headers and problems are facts of HTTP: they know neither Nest nor how a limit is decided.',
      severity: 'error',
      from: { path: '^lib/http/', pathNot: SPEC },
      to: { path: '^lib/', pathNot: '^lib/(http|contracts)/' },
    },
    {
      name: 'rule-sources-import-contracts-only',
      comment: 'A source holds changes of rules as data: what they mean is checked by those that apply them.',
      severity: 'error',
      from: { path: '^lib/live/[^/]+[.]rule-source[.]ts$' },
      to: { path: '^lib/', pathNot: '^lib/contracts/' },
    },
    {
      name: 'rules-import-algorithms-and-contracts-only',
      comment:
        'A rule is compiled once at start-up, from its fields to its key. It knows no store and no request.',
      severity: 'error',
      from: { path: '^lib/rules/', pathNot: SPEC },
      to: { path: '^lib/', pathNot: '^lib/(rules|algorithms|contracts)/' },
    },
    {
      name: 'layers-import-rules-and-contracts-only',
      comment:
        'A layer is a store around a store: it knows neither which one nor who asks. Types of algorithms may pass.',
      severity: 'error',
      from: { path: '^lib/layers/', pathNot: SPEC },
      to: { path: '^lib/', pathNot: '^lib/(layers|rules|contracts)/', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'layers-stay-apart',
      comment:
        'Each layer is entered once and left once, and is tested alone: their order is one line in the pipeline.',
      severity: 'error',
      from: { path: '^lib/layers/([^/]+)/', pathNot: SPEC },
      to: { path: '^lib/layers/[^/]+/', pathNot: '^lib/layers/$1/' },
    },
    {
      name: 'limiter-imports-nothing-above',
      comment:
        'The limiter serves workers and tests without HTTP and Nest, and is given its store. Only its fallback is in memory.',
      severity: 'error',
      from: { path: '^lib/limiter/', pathNot: SPEC },
      to: { path: '^lib/', pathNot: '^lib/(limiter|layers|rules|algorithms|contracts|stores/memory)/' },
    },
    {
      name: 'nest-reaches-algorithms-through-rules',
      comment:
        'The rules say which algorithms there are and which options each has. Types cost nothing at run time and may pass.',
      severity: 'error',
      from: { path: `^lib/(nest|${BESIDE_NEST})/`, pathNot: SPEC },
      to: { path: '^lib/algorithms/', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'fields-of-rules-know-no-request',
      comment: 'The fields of a rule are put together at start, whatever compiles or applies them later.',
      severity: 'error',
      from: { path: '^lib/nest/rules/', pathNot: SPEC },
      to: { path: '^lib/nest/(startup|checks|request|programs)/' },
    },
    {
      name: 'requests-know-no-start-up',
      comment:
        'What runs for each request is compiled already: it neither searches handlers nor checks a setup.',
      severity: 'error',
      from: { path: '^lib/nest/request/', pathNot: SPEC },
      to: { path: '^lib/nest/(startup|checks|programs)/' },
    },
    {
      name: 'checks-know-no-start-up',
      comment: 'A check looks at a rule or a request that it is given.',
      severity: 'error',
      from: { path: '^lib/nest/(checks|programs)/', pathNot: SPEC },
      to: { path: '^lib/nest/(startup|programs)/', pathNot: '^lib/nest/$1/' },
    },
    {
      name: 'nest-loads-what-stands-beside-it',
      comment:
        'Transports and live rules know nest/. It loads them when an application needs them, so that no other application does.',
      severity: 'error',
      from: { path: '^lib/nest/', pathNot: SPEC },
      to: { path: '^lib/(transports|live)/', dynamic: false, dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'what-the-page-collects-knows-no-view',
      comment: 'The rooms of the page depend one way: all of them show what is collected.',
      severity: 'error',
      from: { path: '^lib/dashboard/(collect|explain|subjects|preview)/', pathNot: SPEC },
      to: { path: '^lib/dashboard/(explain|subjects|preview|http)/', pathNot: '^lib/dashboard/$1/' },
    },
    {
      name: 'the-tools-of-nest-stay-apart',
      comment:
        'An application that uses one of them loads no other. Live rules are shown on the page, and do not know it.',
      severity: 'error',
      from: { path: '^lib/(swagger|throttler|dashboard)/', pathNot: SPEC },
      to: { path: '^lib/(swagger|throttler|dashboard)/', pathNot: '^lib/$1/' },
    },
    {
      name: 'nest-knows-no-tool',
      comment:
        'The page, the documents and the storage for throttler know the module, never the other way round.',
      severity: 'error',
      from: { path: '^lib/(nest|transports|live)/', pathNot: SPEC },
      to: { path: '^lib/(swagger|throttler|dashboard)/' },
    },
    {
      name: 'nobody-imports-the-barrel',
      comment:
        'lib/index.ts and the files of the other subpaths state what is public and stand above all folders: an import of one from below is a cycle in waiting.',
      severity: 'error',
      from: { path: '^lib/', pathNot: SPEC },
      to: { path: '^lib/[^/]+[.]ts$' },
    },
    {
      name: 'the-commands-are-alone',
      comment:
        'The commands rewrite source code and replay logs: what limits requests does not depend on them, nor they on each other.',
      severity: 'error',
      from: { path: '^lib/', pathNot: '^lib/(migrate/|simulate/|cli[.]ts$)' },
      to: { path: '^lib/(migrate/|simulate/|cli[.]ts$)' },
    },
    {
      name: 'the-migration-imports-contracts-only',
      comment:
        'It translates text: durations and errors are the same, and it needs nothing else of what it translates to.',
      severity: 'error',
      from: { path: '^lib/migrate/' },
      to: { path: '^lib/', pathNot: '^lib/(migrate|contracts)/' },
    },
    {
      name: 'the-simulator-imports-what-decides',
      comment:
        'It replays logs with the rules, the algorithms and the subjects of HTTP. It needs neither Nest nor Redis.',
      severity: 'error',
      from: { path: '^lib/simulate/', pathNot: SPEC },
      to: {
        path: '^lib/',
        pathNot: '^lib/(simulate|replay|rules|algorithms|http|contracts)/',
      },
    },
    {
      name: 'the-replay-imports-rules-and-contracts-only',
      comment: 'The simulator, the preview of the page and the playground, in a browser, replay with it.',
      severity: 'error',
      from: { path: '^lib/replay/', pathNot: SPEC },
      to: { path: '^lib/', pathNot: '^lib/(replay|rules|contracts)/' },
    },
    {
      name: 'the-playground-imports-what-decides',
      comment: 'It runs in browsers, where there is neither Nest nor Redis nor Node.js.',
      severity: 'error',
      from: { path: '^site/playground/' },
      to: { path: '^lib/', pathNot: '^lib/(simulate/|replay/|rules/|algorithms/|contracts/)' },
    },
    {
      name: 'nestjs-in-nest-only',
      comment:
        'The rest runs without Nest, and a new major of Nest breaks nest/ and what stands beside it only.',
      severity: 'error',
      from: { path: '^lib/', pathNot: `^lib/(nest|${BESIDE_NEST})/` },
      to: { path: '(^|/)@nestjs/' },
    },
    {
      name: 'ioredis-in-the-redis-store-only',
      comment: 'One folder talks to Redis: a new client is one change.',
      severity: 'error',
      from: { path: '^lib/', pathNot: '^lib/stores/redis/' },
      to: { path: '(^|/)ioredis(/|$)' },
    },
    {
      name: 'lib-imports-nothing-outside',
      comment: 'What is published must not need tests, scripts or the sample application.',
      severity: 'error',
      from: { path: '^lib/', pathNot: SPEC },
      to: { path: '^(test|sample-app|scripts|bench|dist)/' },
    },
    {
      name: 'sample-app-uses-the-package-by-name',
      comment:
        'The sample imports what users import, as they do; a path into lib would show what nobody can copy.',
      severity: 'error',
      from: { path: '^sample-app/' },
      to: { path: '^(lib|test|scripts|dist)/', dependencyTypes: ['local'] },
    },
    {
      name: 'no-cycles',
      comment: 'Two files that need each other are one idea in two files; types count too.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'no-drawers',
      comment: 'A name such as utils says nothing, so that anything ends up behind it. Name the idea.',
      severity: 'error',
      from: {},
      to: { path: DRAWER, pathNot: '(^|/)(node_modules|dist)/', dependencyTypesNot: ['core'] },
    },
    {
      name: 'no-drawers-at-the-top',
      comment: 'The same for a file that nobody imports, such as a spec.',
      severity: 'error',
      from: { path: DRAWER, pathNot: '(^|/)(node_modules|dist)/' },
      to: {},
    },
    {
      name: 'declared-in-package-json',
      comment:
        'What lib imports at run time is a dependency or a peer: users do not install our tools. The matchers are loaded by the test runner that they are for, the migration loads ts-morph from a folder of its own, and the page is built with its view library inside.',
      severity: 'error',
      from: { path: '^lib/', pathNot: [SPEC, RUNNERS, '^lib/migrate/', '^lib/dashboard/page/'] },
      to: {
        dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown', 'unknown'],
        dependencyTypesNot: ['npm-peer'],
      },
    },
    {
      name: 'found',
      comment: 'An import that leads nowhere would escape every rule above. Vitest is not installed here.',
      severity: 'error',
      from: { pathNot: RUNNERS },
      to: { couldNotResolve: true },
    },
    {
      name: 'the-page-runs-in-a-browser',
      comment:
        'The operations page is bundled into a text and runs in a browser: it has only its own folder, its view library, the constants and the types of what the server sends, how changes of it are applied, and the drawing that it shares with the playground.',
      severity: 'error',
      from: { path: '^lib/dashboard/page/', pathNot: SPEC },
      to: {
        pathNot: [
          '^lib/dashboard/page/',
          '^lib/dashboard/snapshot(-patch)?.ts$',
          '^lib/replay/lane.ts$',
          '(^|/)node_modules/preact/',
        ],
        dependencyTypesNot: ['type-only'],
      },
    },
    {
      name: 'the-server-imports-the-text-of-the-page',
      comment: 'The files of the page need a browser. The server has them as texts in page.embedded.ts.',
      severity: 'error',
      from: { path: '^lib/', pathNot: '^lib/dashboard/page/' },
      to: { path: '^lib/dashboard/page/' },
    },
    {
      name: 'no-orphans',
      comment: 'A file that imports nothing and that nothing imports is dead.',
      severity: 'error',
      from: {
        path: '^(lib|test|sample-app)/',
        pathNot: '([.]d[.]m?ts$|^lib/schematics/|^test/upgrade/.*[.]cjs$)',
        orphan: true,
      },
      to: {},
    },
  ],
  options: {
    doNotFollow: { path: '(^|/)(node_modules|dist)/' },
    exclude: { path: '(^|/)fixtures/' },
    tsPreCompilationDeps: true,
    combinedDependencies: false,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default', 'types'],
      mainFields: ['main', 'types'],
    },
    webpackConfig: { fileName: 'scripts/resolve.cjs' },
  },
};
