import { createHash } from 'node:crypto';
import { promises, unwatchFile, watchFile } from 'node:fs'; // `node:fs/promises` takes 0.6 ms to load.
import { extname } from 'node:path';
import { isFields } from '../contracts/fields.js';
import { rejectValue } from '../contracts/rate-limit-config.error.js';
import type { LiveException, RuleSource, SourcedRule, SourcedRules } from '../contracts/rule-source.js';
import { messageOf } from '../contracts/shown.js';

/** Milliseconds between looks at the file. */
const LOOK_EVERY_MS = 250;

const YAML = ['.yaml', '.yml'];

/** Packages that read YAML, in the order in which they are tried. */
const YAML_PACKAGES = ['yaml', 'js-yaml'];

const EXAMPLE = '{ "login": { "limit": 3, "exceptions": { "203.0.113.7": "deny" } } }';

/**
 * Reads live rules from a JSON or YAML file whenever it changes: fields by rule name, and exceptions by subject. YAML
 * needs the package `yaml` or `js-yaml`. It cannot be changed by `limits.rules`.
 *
 * @example
 * // limits.json: { "login": { "limit": 3, "exceptions": { "203.0.113.7": "deny" } } }
 * RateLimitModule.forRoot({ liveRules: new FileRuleSource('limits.json') });
 */
export class FileRuleSource implements RuleSource {
  /**
   * @param path path of a file whose name ends with `.json`, `.yaml` or `.yml`
   * @throws RateLimitConfigError if it does not
   */
  constructor(private readonly path: string) {
    if (typeof path === 'string' && ['.json', ...YAML].includes(extname(path))) return;
    rejectValue('path', path, 'a path that ends with .json, .yaml or .yml');
  }

  async load(): Promise<SourcedRules> {
    const text = await promises.readFile(this.path, 'utf8');
    const parsed = await this.parse(text).catch((error: unknown) => {
      throw new Error(`${this.path}: ${messageOf(error)}`, { cause: error });
    });
    if (!isFields(parsed) || !Object.values(parsed).every(isFields)) {
      throw new Error(`${this.path}: allowed: an object of rules by their names, such as ${EXAMPLE}`);
    }
    const entries = Object.entries(parsed).flatMap(([rule, fields]) => entriesOf(rule, fields as object));
    return { version: createHash('sha256').update(text).digest('hex'), entries };
  }

  watch(changed: () => void): () => void {
    const listener = (): void => changed();
    watchFile(this.path, { interval: LOOK_EVERY_MS, persistent: false }, listener);
    return () => unwatchFile(this.path, listener);
  }

  private async parse(text: string): Promise<unknown> {
    return YAML.includes(extname(this.path)) ? parseYaml(text) : JSON.parse(text);
  }
}

function entriesOf(rule: string, { exceptions, ...fields }: { exceptions?: unknown }): SourcedRule[] {
  const layer = [{ rule, fields }];
  if (exceptions === undefined) return layer;
  if (!isFields(exceptions)) rejectValue(`${rule}.exceptions`, exceptions, 'an object by subject');
  const others = Object.entries(exceptions) as [string, LiveException][];
  const own = Object.keys(fields).length > 0 ? layer : [];
  return [...own, ...others.map(([subject, exception]) => ({ rule, subject, fields: exception }))];
}

/** The functions of the packages that read YAML. */
interface YamlModule {
  readonly parse?: (text: string) => unknown;
  readonly load?: (text: string) => unknown;
  readonly default?: YamlModule;
}

/** @throws Error if neither package is installed */
async function parseYaml(text: string): Promise<unknown> {
  for (const name of YAML_PACKAGES) {
    const found = await (import(name) as Promise<YamlModule>).catch(() => undefined);
    const parse = found?.parse ?? found?.load ?? found?.default?.parse ?? found?.default?.load;
    if (parse) return parse(text);
  }
  throw new Error('a YAML file needs the package yaml or js-yaml; run: npm install yaml');
}
