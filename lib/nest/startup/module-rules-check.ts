import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { Guards } from './guards.js';
import { classes, methodsOf } from './handler-classes.js';
import { handlerKind } from './handler-kind.js';
import { RuleBook } from '../rules/rule-book.js';
import { Warnings } from '../warnings.js';

/** Warns if no guard enforces the rules of the module. */
@Injectable()
export class ModuleRulesCheck implements OnApplicationBootstrap {
  constructor(
    @Inject(RuleBook) private readonly book: RuleBook,
    @Inject(Guards) private readonly guards: Guards,
    @Inject(ModulesContainer) private readonly modules: ModulesContainer,
    @Inject(Warnings) private readonly warnings: Warnings,
  ) {}

  /** Runs at bootstrap, since applications add global guards until then. */
  onApplicationBootstrap(): void {
    const names = this.book.everyRoute.map((name) => `"${name}"`);
    if (names.length === 0 || this.guards.hasOurs || !this.hasHandlers()) return;
    const rules = names.length > 1 ? `The rules ${names.join(', ')} limit` : `The rule ${names[0]} limits`;
    this.warnings.warn(
      'RL_NO_GUARD',
      `${rules} no request: \`registerGuard\` is false, and no handler has @UseGuards(RateLimitGuard). ` +
        'Add it to the handlers that `rules` is for, or remove `registerGuard: false`.',
    );
  }

  private hasHandlers(): boolean {
    for (const { type, isController } of classes(this.modules)) {
      const kinds = methodsOf(type).map((name) => handlerKind(type, name, isController));
      if (kinds.some((kind) => kind !== 'none' && kind !== 'unknown')) return true;
    }
    return false;
  }
}
