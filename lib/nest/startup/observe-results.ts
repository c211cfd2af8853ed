import type { ModulesContainer } from '@nestjs/core';
import type { Admission } from '../request/admission.js';
import type { DeclaredRules } from '../rules/declared-rules.js';
import { declaredClasses, handlersOf, targetsOf } from './handlers.js';

/** Observes what handlers with rules that settle return, before Nest reads the interceptors of handlers. */
export async function observeResults(
  modules: ModulesContainer,
  declared: DeclaredRules,
  admission: Admission,
): Promise<void> {
  const observed: object[] = [];
  for (const { type, isController } of declaredClasses(modules)) {
    for (const { name, handler, kind } of handlersOf(type, isController)) {
      if (kind === 'none' || kind === 'connection') continue;
      const rules = declared.rulesFor(targetsOf(type, handler, name));
      if (rules.some(({ settle }) => settle)) observed.push(handler);
    }
  }
  if (observed.length === 0) return;
  observed.forEach(await admission.openSettlements());
}
