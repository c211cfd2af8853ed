import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Controller, Get } from '@nestjs/common';
import { ConfigModule, ConfigService, registerAs, type ConfigModuleOptions } from '@nestjs/config';
import {
  overridesFromEnv,
  RateLimit,
  RateLimitModule,
  type RateLimitModuleOptions,
} from '../../lib/index.js';

const FIXED = { window: '1m', limit: 3, algorithm: 'fixed-window' } as const;

@Controller()
class Routes {
  @RateLimit({ ...FIXED, name: 'login' })
  @Get('login')
  login() {}

  @RateLimit({
    name: 'create-order',
    window: '1s',
    limit: 5,
    algorithm: 'token-bucket',
    burst: 10,
    by: 'user',
  })
  @Get('order')
  order() {}
}

/** Returns the parts of an application whose overrides are those that `read` returns from the configuration. */
export async function configuredBy(
  config: ConfigModuleOptions,
  read: (config: ConfigService) => RateLimitModuleOptions['overrides'],
) {
  const limits = RateLimitModule.forRootAsync({
    inject: [ConfigService],
    useFactory: (service: ConfigService) => ({ overrides: read(service) }),
  });
  const loaded = await ConfigModule.forRoot({ ignoreEnvFile: true, ...config, isGlobal: true });
  return { imports: [loaded, limits], controllers: [Routes] };
}

/** Overrides that the application has registered with its configuration. */
export function fromFile(rateLimit: object) {
  return configuredBy({ load: [registerAs('rateLimit', () => rateLimit)] }, (config) =>
    config.get('rateLimit'),
  );
}

const environment = { ...process.env };

/** Overrides read from the environment with these additional variables. */
export function fromVariables(variables: Record<string, string>) {
  Object.assign(process.env, variables);
  return configuredBy({}, (config) => overridesFromEnv(config));
}

/** Overrides read from a `.env` file with this text. */
export async function fromDotEnv(text: string) {
  const folder = mkdtempSync(join(tmpdir(), 'dot-env-'));
  const envFilePath = join(folder, '.env');
  writeFileSync(envFilePath, text);
  try {
    return await configuredBy({ envFilePath, ignoreEnvFile: false }, (config) => overridesFromEnv(config));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Removes the variables that tests have set: for `afterEach`. */
export function restoreEnvironment(): void {
  for (const name of Object.keys(process.env)) if (!(name in environment)) delete process.env[name];
}
