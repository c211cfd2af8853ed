import { afterEach, describe, expect, it } from '@jest/globals';
import { MemoryRuleSource } from '../../lib/live.js';
import { closeApps } from '../support/nest-app.js';
import { startLiveApp } from './live-app.js';

/** A source whose rules change while they are loaded, as with writers that never stop. */
class EndlessChanges extends MemoryRuleSource {
  loads = 0;
  private changed: () => void = () => undefined;

  override watch(changed: () => void): () => void {
    this.changed = changed;
    return super.watch(changed);
  }

  override async load() {
    this.loads += 1;
    this.changed();
    await new Promise(setImmediate);
    return super.load();
  }
}

afterEach(closeApps);

describe('live rules that never stop changing', () => {
  it('a change is in force after at most two loads, and the process follows', async () => {
    const source = new EndlessChanges();
    const { rules, policyOf } = await startLiveApp(source);
    for (const limit of [3, 4, 5]) {
      const before = source.loads;
      await rules.set('login', { limit }, { by: 'ops' });
      expect(source.loads - before).toBeLessThanOrEqual(2);
      expect(await policyOf('/login')).toContain(`q=${limit};`);
    }
    await source.write({ rule: 'login', fields: { limit: 9 }, by: 'another process' });
    while (!(await policyOf('/login'))?.includes('q=9;')) await new Promise(setImmediate);
  });
});
