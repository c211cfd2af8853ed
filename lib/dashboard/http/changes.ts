import {
  ForbiddenException,
  Inject,
  Injectable,
  NotFoundException,
  UnprocessableEntityException,
} from '@nestjs/common';
import { isFields } from '../../contracts/fields.js';
import type { RuleChangeRecord } from '../../contracts/rule-source.js';
import { subjectFromSource } from '../../rules/subject.js';
import type { SetOptions } from '../../live/change-options.js';
import { RateLimitService } from '../../nest/rate-limit.service.js';
import { DASHBOARD_OPTIONS, type RateLimitDashboardOptions } from '../dashboard.options.js';
import { Previews } from '../preview/previews.js';
import type { HistoryEntry, Preview } from '../snapshot.js';
import { masked, shownSubject, withMaskedSubjects } from '../subjects/masked.js';
import { SubjectActions } from '../subjects/subject-actions.js';
import { authorOf, pathParameter, type DashboardRequest } from './request-checks.js';

const MOST_SHOWN = 100;
const MOST_READ = 1000;

/** Carries out the requests of the page that change something, and those about changes. */
@Injectable()
export class Changes {
  constructor(
    @Inject(RateLimitService) private readonly limits: RateLimitService,
    @Inject(SubjectActions) private readonly subjects: SubjectActions,
    @Inject(Previews) private readonly previews: Previews,
    @Inject(DASHBOARD_OPTIONS) private readonly options: RateLimitDashboardOptions,
  ) {}

  /** Returns the last changes of a rule; of all rules without a name. */
  async history(rule: unknown): Promise<readonly HistoryEntry[]> {
    const records = await this.limits.rules.history(MOST_READ);
    const isMeant = (record: RuleChangeRecord): boolean =>
      rule === undefined || record.rule === rule || record.loss !== undefined;
    return records
      .filter(isMeant)
      .slice(0, MOST_SHOWN)
      .map((record) => this.shown(record));
  }

  preview(request: DashboardRequest): Promise<Preview> {
    const { rule, fields } = bodyOf(request, ['rule', 'fields']);
    return this.previews.of(text('rule', rule), fieldsOf(fields));
  }

  async set(request: DashboardRequest): Promise<{ version: number }> {
    const { rule, fields, ...options } = this.changeOf(request, [
      'rule',
      'fields',
      'version',
      'reason',
      'expires',
    ]);
    const name = text('rule', rule);
    return {
      version: await this.limits.rules.set(name, fieldsOf(fields), this.by(request, options)),
    };
  }

  async unset(request: DashboardRequest): Promise<{ version: number }> {
    const { rule, ...options } = this.changeOf(request, ['rule', 'version', 'reason']);
    return { version: await this.limits.rules.unset(text('rule', rule), this.by(request, options)) };
  }

  /** Ends a loss of live rules. */
  async confirm(request: DashboardRequest, how: 'restore' | 'accept'): Promise<{ version: number }> {
    const { reason } = this.changeOf(request, ['reason']);
    const by = authorOf(request, this.options.author);
    const author = { by, ...(reason !== undefined && { reason: text('reason', reason) }) };
    return { version: await this.limits.rules[how](author) };
  }

  async reset(request: DashboardRequest): Promise<{ reset: boolean }> {
    const { rule, subject } = this.changeOf(request, ['rule', 'subject']);
    const by = authorOf(request, this.options.author);
    return { reset: await this.subjects.reset(text('rule', rule), text('subject', subject), by) };
  }

  async block(request: DashboardRequest): Promise<void> {
    const { rule, subject, expires } = this.changeOf(request, ['rule', 'subject', 'expires']);
    const by = authorOf(request, this.options.author);
    await this.subjects.block(text('rule', rule), text('subject', subject), text('expires', expires), by);
  }

  async run(request: DashboardRequest): Promise<{ message?: string }> {
    this.changeOf(request, []);
    const id = pathParameter(request);
    const action = this.options.actions?.find((each) => each.id === id);
    if (!action) throw new NotFoundException('There is no such action.');
    const message = await action.run();
    return typeof message === 'string' ? { message } : {};
  }

  /** Returns an error as the page may show it: subjects of exceptions are masked like all others. */
  shownError(error: unknown): unknown {
    return this.options.subjects === 'shown' ? error : withMaskedSubjects(error);
  }

  /** @throws ForbiddenException if the page is read-only */
  private changeOf(request: DashboardRequest, names: readonly string[]): Readonly<Record<string, unknown>> {
    if (this.options.readOnly) throw new ForbiddenException('The operations page is read-only.');
    return bodyOf(request, names);
  }

  /** The options of a change: `limits.rules` checks them. */
  private by(request: DashboardRequest, options: Readonly<Record<string, unknown>>): SetOptions {
    if (options['version'] === undefined) {
      throw new UnprocessableEntityException('version: missing; it is that of `change`, or 0 without one');
    }
    return { ...options, by: authorOf(request, this.options.author) };
  }

  private shown({ subject, inherit: _inherit, ...record }: RuleChangeRecord): HistoryEntry {
    const show = this.options.subjects === 'shown' ? shownSubject : masked;
    return {
      ...(record as Omit<HistoryEntry, 'subject'>),
      ...(subject !== undefined && { subject: show(subjectFromSource(subject)) }),
    };
  }
}

/** @throws UnprocessableEntityException if the body is no object, or has other fields */
function bodyOf({ body }: DashboardRequest, names: readonly string[]): Readonly<Record<string, unknown>> {
  if (!isFields(body)) throw new UnprocessableEntityException('The body has to be a JSON object.');
  const others = Object.keys(body).filter((name) => !names.includes(name));
  if (others.length === 0) return body;
  throw new UnprocessableEntityException(
    `${others.join(', ')}: unknown; allowed: ${names.join(', ') || 'none'}`,
  );
}

function text(name: string, value: unknown): string {
  if (typeof value === 'string' && value !== '') return value;
  throw new UnprocessableEntityException(`${name}: has to be a text`);
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  if (isFields(value)) return value;
  throw new UnprocessableEntityException('fields: has to be an object with fields of a rule');
}
