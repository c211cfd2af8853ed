import {
  ForbiddenException,
  Inject,
  Injectable,
  Logger,
  NotFoundException,
  ServiceUnavailableException,
  UnprocessableEntityException,
} from '@nestjs/common';
import { isFields } from '../../contracts/fields.js';
import { escaped } from '../../contracts/shown.js';
import { RateLimitStoreError } from '../../limiter/rate-limit-store.error.js';
import type { SetOptions } from '../../live/change-options.js';
import { RateLimitService } from '../../nest/rate-limit.service.js';
import { DASHBOARD_OPTIONS, type RateLimitDashboardOptions } from '../dashboard.options.js';
import { Previews } from '../preview/previews.js';
import { ProcessReports } from '../collect/process-reports.js';
import type { Explanation } from '../../nest/explanation.js';
import type { NamedSubject } from '../snapshot.js';
import { unmasked } from '../subjects/masked.js';
import { Restrictions } from '../subjects/restrictions.js';
import { SubjectActions } from '../subjects/subject-actions.js';
import { History } from './history.js';
import { authorOf, pathEnd, type DashboardRequest } from './request-checks.js';

type Fields = Readonly<Record<string, unknown>>;

/** The fields of a body: `TEXTS` are texts if they are among those of the request. */
interface Given extends Fields {
  readonly rule: string;
  readonly subject: string;
  readonly id: string;
}

const TEXTS = ['rule', 'subject', 'id'];

/** A request that changes something: the fields of its body, and what it does. */
interface Change {
  readonly fields: readonly string[];
  /** Whether it changes nothing, so that a page that is read-only sends it as well. */
  readonly isRead?: true;
  /** What the author has done with a subject, for the log. */
  readonly done?: string;
  /**
   * Returns the result, or the version of a change of live rules.
   *
   * @param by returns the author
   */
  readonly run: (page: Changes, given: Given, by: () => string) => unknown;
}

/** The changes by the ends of their paths, without those of the application's buttons. */
export const CHANGES: Readonly<Record<string, Change>> = {
  'rules/preview': {
    fields: ['rule', 'fields', 'subject?'],
    isRead: true,
    run: async ({ previews, subjects }, { rule, fields, subject }) => {
      const one = subject ? await subjects.textOf(rule, text('subject', subject)) : undefined;
      return previews.of(rule, fieldsOf(fields), one);
    },
  },
  'rules/set': {
    fields: ['rule', 'fields', 'version', 'reason', 'expires'],
    run: ({ limits }, { rule, fields, ...options }, by) =>
      limits.rules.set(rule, fieldsOf(fields), changeBy(by, options)),
  },
  'rules/unset': {
    fields: ['rule', 'version', 'reason'],
    run: ({ limits }, { rule, ...options }, by) => limits.rules.unset(rule, changeBy(by, options)),
  },
  'rules/undo': {
    fields: ['version', 'reason'],
    run: ({ history }, { version, reason }, by) => history.undo(version, authorWith(by, reason)),
  },
  'rules/restore': endOfLoss('restore'),
  'rules/accept': endOfLoss('accept'),
  // Its subject is in the body, since logs of requests have their URLs.
  'subjects/find': {
    fields: ['subject'],
    isRead: true,
    run: ({ restrictions }, { subject }) => restrictions.find(subject),
  },
  'subjects/reset': ofSubject('has reset', async ({ subjects }, { rule, subject }, by) => ({
    reset: await subjects.reset(rule, subject, by()),
  })),
  'subjects/block': ofSubject(
    'has blocked',
    ({ subjects }, { rule, subject, expires, reason }, by) =>
      subjects.block(rule, subject, expires, authorWith(by, reason)),
    ['expires', 'reason'],
  ),
  'subjects/set': ofSubject(
    'has set an exception of',
    ({ subjects }, { rule, subject, fields, ...options }, by) =>
      subjects.setException(rule, subject, fieldsOf(fields), { ...options, by: by() }),
    ['fields', 'reason', 'expires'],
  ),
  'subjects/unblock': ofSubject('has unblocked', ({ subjects }, { rule, subject }, by) =>
    subjects.unblock(rule, subject, by()),
  ),
  'subjects/unset': ofSubject('has removed the exception of', ({ subjects }, { rule, subject }, by) =>
    subjects.unsetException(rule, subject, by()),
  ),
};

/** Carries out the requests of the page that change something, and those about changes. */
@Injectable()
export class Changes {
  private readonly logger = new Logger('RateLimit');

  constructor(
    @Inject(RateLimitService) readonly limits: RateLimitService,
    @Inject(SubjectActions) readonly subjects: SubjectActions,
    @Inject(Previews) readonly previews: Previews,
    @Inject(History) readonly history: History,
    @Inject(Restrictions) readonly restrictions: Restrictions,
    @Inject(ProcessReports) private readonly processes: ProcessReports,
    @Inject(DASHBOARD_OPTIONS) private readonly options: RateLimitDashboardOptions,
  ) {}

  /**
   * Carries out a request, and returns what the page gets.
   *
   * @throws ForbiddenException if the page is read-only
   * @throws UnprocessableEntityException if the body has another form
   */
  async run(request: DashboardRequest): Promise<unknown> {
    const [room, name] = pathEnd(request);
    const { actions = [], author, readOnly } = this.options;
    const change = room === 'actions' ? undefined : CHANGES[`${room}/${name}`];
    if (readOnly && !change?.isRead) throw new ForbiddenException('The operations page is read-only.');
    const given = bodyOf(request, change?.fields ?? []);
    if (change) return this.logged(change, given, () => authorOf(request, author));
    const action = room === 'actions' && actions.find((each) => each.id === name);
    if (!action) throw new NotFoundException('There is no such action.');
    const message = await action.run();
    return typeof message === 'string' ? { message } : {};
  }

  /** Runs a change, and logs who has changed a subject: by its id, since a log holds no subjects. */
  private async logged(change: Change, given: Given, by: () => string): Promise<unknown> {
    const log = (end: string) => {
      const { rule, subject } = given;
      const done = `${change.done} the subject with the id ${subject} of rule "${escaped(rule)}"`;
      this.logger.log(`Operations page: "${escaped(by())}" ${done}${end}`);
    };
    try {
      const result = await change.run(this, given, by);
      if (change.done) log('.');
      return typeof result === 'number' ? { version: result } : result;
    } catch (error) {
      // It may have been done, and the id is one of a subject.
      const isUnconfirmed =
        error instanceof RateLimitStoreError || error instanceof ServiceUnavailableException;
      if (change.done && isUnconfirmed) log(`, with an error: ${escaped((error as Error).message)}`);
      throw error;
    }
  }

  /** Returns why a request was denied, for a user with the right to see subjects. */
  async explain(request: DashboardRequest): Promise<Explanation<NamedSubject>> {
    const { id } = bodyOf(request, ['id']);
    const by = authorOf(request, this.options.author);
    const { rules, ...explanation } = await this.limits.explain(id, { by });
    const { secret } = await this.processes.all();
    return {
      ...explanation,
      rules: rules.map((each) => ({ ...each, subject: unmasked(secret, each.rule, each.subject) })),
    };
  }

  /** Returns the subjects in a request, for a user with the right to see them. */
  async unmask(request: DashboardRequest): Promise<{ readonly subjects: readonly string[] }> {
    const { subjects } = bodyOf(request, ['subjects']);
    return { subjects: await this.subjects.unmask(subjects, authorOf(request, this.options.author)) };
  }
}

/** The options of a change: `limits.rules` checks them. */
function changeBy(by: () => string, options: Fields): SetOptions {
  if (options['version'] !== undefined) return { ...options, by: by() };
  throw new UnprocessableEntityException('version: missing; it is that of `change`, or 0 without one');
}

function authorWith(by: () => string, reason: unknown): { readonly by: string; readonly reason?: string } {
  return { by: by(), ...(reason !== undefined && { reason: text('reason', reason) }) };
}

/** Ends a loss of live rules. */
function endOfLoss(how: 'restore' | 'accept'): Change {
  return {
    fields: ['reason'],
    run: ({ limits }, { reason }, by) => limits.rules[how](authorWith(by, reason)),
  };
}

/** A change of a subject under a rule. */
function ofSubject(done: string, run: Change['run'], others: readonly string[] = []): Change {
  return { fields: ['rule', 'subject', ...others], done, run };
}

/** @throws UnprocessableEntityException if the body is no object, lacks a text, or has other fields */
function bodyOf({ body }: DashboardRequest, names: readonly string[]): Given {
  if (!isFields(body)) throw new UnprocessableEntityException('The body has to be a JSON object.');
  const allowed = names.map((name) => name.replace('?', ''));
  const others = Object.keys(body).filter((name) => !allowed.includes(name));
  const problem = `${others.join(', ')}: unknown; allowed: ${allowed.join(', ') || 'none'}`;
  if (others.length > 0) throw new UnprocessableEntityException(problem);
  for (const name of names) if (TEXTS.includes(name)) text(name, body[name]);
  return body as Given;
}

function text(name: string, value: unknown): string {
  if (typeof value === 'string' && value !== '') return value;
  throw new UnprocessableEntityException(`${name}: has to be a text`);
}

function fieldsOf(value: unknown): Fields {
  if (isFields(value)) return value;
  throw new UnprocessableEntityException('fields: has to be an object with fields of a rule');
}
