import { Inject, Injectable } from '@nestjs/common';
import { Warnings } from '../nest/warnings.js';

/** Reports live rules of the source that do not fit: once, until the source holds other ones. */
@Injectable()
export class RejectedRules {
  private readonly reasons = new Map<string, string>();

  constructor(@Inject(Warnings) private readonly warnings: Warnings) {}

  reject(rule: string, problems: readonly string[]): void {
    const reason = problems.join('; ');
    if (this.reasons.get(rule) === reason) return;
    this.accept(rule);
    this.reasons.set(rule, reason);
    const stays =
      'The last live rule that was right, or the rule in the code, stays in force in this process';
    this.warnings.warn('RL_LIVE_RULE_REJECTED', `${reason}. ${stays}; correct the rule in the source.`, rule);
  }

  accept(rule: string): void {
    this.reasons.delete(rule);
    this.warnings.withdraw('RL_LIVE_RULE_REJECTED', rule);
  }

  /** Forgets the rules that the source does not hold any more. */
  keep(rules: readonly string[]): void {
    for (const rule of this.reasons.keys()) if (!rules.includes(rule)) this.accept(rule);
  }
}
