import js from '@eslint/js';
import { defineConfig, globalIgnores } from 'eslint/config';
import tseslint from 'typescript-eslint';

const nodeGlobals = Object.fromEntries(
  Object.getOwnPropertyNames(globalThis).map((name) => [name, 'readonly']),
);

const TIMERS = ['setTimeout', 'setInterval'];
const TIMER_MESSAGE = 'Use after, every or sleep of lib/contracts/timer.ts, which take delays of any length.';

export default defineConfig(
  globalIgnores([
    'dist/',
    'coverage/',
    '.cache/',
    '**/node_modules/',
    '**/*.lua.ts',
    '**/*.embedded.ts',
    'test/packaging/fixtures/',
    'test/migrate/fixtures/',
    'examples/', // Packages of their own: test/examples compiles them.
  ]),
  { linterOptions: { reportUnusedDisableDirectives: 'error' } },
  js.configs.recommended,
  {
    files: ['**/*.mjs', '**/*.cjs'],
    languageOptions: { globals: { ...nodeGlobals, module: 'writable', require: 'readonly' } },
  },
  {
    files: ['**/*.ts', '**/*.mts'],
    extends: [tseslint.configs.strictTypeChecked, tseslint.configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      // Every injection in lib names its token with @Inject, so no import of a type has to stay for Nest.
      // The rule itself leaves alone what decorator metadata needs.
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
      '@typescript-eslint/no-import-type-side-effects': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { considerDefaultExhaustiveForUnions: true },
      ],

      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      // What users pass may be sync or async, and a list of it is both.
      '@typescript-eslint/await-thenable': ['error', { allowMixedPromiseArrays: true }],
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      // A Nest module is a class without members.
      '@typescript-eslint/no-extraneous-class': ['error', { allowWithDecorator: true }],
      // The brackets say that the compiler does not know the name.
      '@typescript-eslint/dot-notation': ['error', { allowIndexSignaturePropertyAccess: true }],
      // `false` and `''` can mean "not given" in options.
      '@typescript-eslint/prefer-nullish-coalescing': [
        'error',
        { ignorePrimitives: { boolean: true, string: true } },
      ],

      // With noUncheckedIndexedAccess the way to say that an index is within bounds.
      '@typescript-eslint/no-non-null-assertion': 'off',
      // JavaScript and configuration files call us too: values are checked whatever their types say.
      '@typescript-eslint/no-unnecessary-condition': 'off',
      // An async method rejects where another would throw, and an interface may ask for a promise.
      '@typescript-eslint/require-await': 'off',
      // An algorithm without options of its own.
      '@typescript-eslint/no-generated-empty-object-type': 'off',
      // Exception filters return an Observable or nothing.
      '@typescript-eslint/no-invalid-void-type': 'off',
    },
  },
  {
    files: ['lib/**/*.ts'],
    ignores: ['**/*.spec.ts'],
    rules: {
      // A longer file has two ideas; see the house rules in CONTRIBUTING.md.
      'max-lines': ['error', 250],
      'no-console': 'error',
    },
  },
  {
    files: ['lib/**/*.ts'],
    // The page of the dashboard runs in a browser.
    ignores: ['**/*.spec.ts', 'lib/contracts/timer.ts', 'lib/dashboard/page/*.ts'],
    rules: {
      // A timer of Node.js with a delay beyond 2^31 ms fires at once.
      'no-restricted-globals': ['error', ...TIMERS.map((name) => ({ name, message: TIMER_MESSAGE }))],
      'no-restricted-imports': [
        'error',
        ...['timers', 'timers/promises', 'node:timers', 'node:timers/promises'].map((name) => ({
          name,
          importNames: TIMERS,
          message: TIMER_MESSAGE,
        })),
      ],
    },
  },
  {
    files: ['lib/cli.ts', 'lib/migrate/*.ts'],
    rules: {
      // A command prints.
      'no-console': 'off',
      // ts-morph declares its nodes as classes that each other's type guards narrow.
      '@typescript-eslint/no-unsafe-class-instance-assignment': 'off',
      '@typescript-eslint/no-confusing-void-expression': 'off',
      '@typescript-eslint/no-unsafe-enum-assignment': 'off',
    },
  },
  {
    files: ['**/*.spec.ts', 'test/**/*.ts'],
    rules: {
      // Bodies of responses and malformed options are untyped by nature.
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-call': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
      '@typescript-eslint/no-base-to-string': 'off',
      '@typescript-eslint/no-dynamic-delete': 'off',
      '@typescript-eslint/no-empty-function': 'off',
      '@typescript-eslint/unbound-method': 'off',
      '@typescript-eslint/class-literal-property-style': 'off',
    },
  },
);
