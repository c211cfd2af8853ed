import type { SnapshotRule } from '../snapshot.js';
import { count, visible } from './figures.js';

/** Milliseconds between two announcements of denials: a screen reader reads one out before the next. */
const BETWEEN_MS = 15_000;
/** Milliseconds after which a second is complete, with the figures of all processes. */
const LATE_MS = 2000;
const TOAST_MS = 8000;
const MOST_RULES = 3;

/** Announces a text to screen readers without interrupting them. */
export function announce(text: string): void {
  document.querySelector('#announcements')!.textContent = text;
}

/** Shows and announces the outcome of what the reader did. */
export function report(text: string, kind: 'done' | 'failed' = 'done'): void {
  const toast = document.createElement('p');
  toast.className = `toast ${kind}`;
  toast.textContent = text;
  document.querySelector(kind === 'done' ? '#outcomes' : '#failures')!.replaceChildren(toast);
  setTimeout(() => toast.remove(), TOAST_MS);
}

/** Announces denials: how many each rule had since the last announcement. */
export class DenialReport {
  private readonly denied = new Map<string, number>();
  private seenAt: number | undefined;
  private reportedAt = -Infinity;

  add(at: number, rules: readonly SnapshotRule[]): void {
    const since = this.seenAt ?? at;
    this.seenAt = at;
    for (const { rule, seconds } of rules) {
      const recent = seconds.filter((second) => second.at > since - LATE_MS && second.at <= at - LATE_MS);
      const denied = recent.reduce((sum, second) => sum + second.denied, 0);
      if (denied > 0) this.denied.set(rule, (this.denied.get(rule) ?? 0) + denied);
    }
    if (this.denied.size === 0 || at - this.reportedAt < BETWEEN_MS) return;
    this.reportedAt = at;
    announce(textOf([...this.denied]));
    this.denied.clear();
  }
}

function textOf(denied: readonly (readonly [rule: string, requests: number])[]): string {
  const sorted = [...denied].sort(([, one], [, other]) => other - one);
  const parts = sorted.slice(0, MOST_RULES).map(([rule, requests]) => `${visible(rule)} ${count(requests)}`);
  const rest = sorted.length > MOST_RULES ? `, and ${sorted.length - MOST_RULES} more rules` : '';
  return `Denied requests: ${parts.join(', ')}${rest}.`;
}
