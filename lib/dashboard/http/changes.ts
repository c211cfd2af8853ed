import {
  ForbiddenException,
  Inject,
  Injectable,
  Logger,
  NotFoundException,
  ServiceUnavailableException,
} from '@nestjs/common';
import { isFields } from '../../contracts/fields.js';
import { durationOption, matching, readOptions, type OptionCheck } from '../../contracts/options.js';
import { escaped } from '../../contracts/shown.js';
import { RateLimitStoreError } from '../../limiter/rate-limit-store.error.js';
import { UNSET_OPTIONS } from '../../live/change-options.js';
import { RateLimitService } from '../../nest/rate-limit.service.js';
import { DASHBOARD_OPTIONS, type DashboardOptions } from '../dashboard.options.js';
import { Previews } from '../preview/previews.js';
import { ProcessReports } from '../collect/process-reports.js';
import type { Explanation } from '../../nest/explanation.js';
import type { NamedSubject } from '../snapshot.js';
import { namedSubject, plainText } from '../collect/masked.js';
import { subjectFromProgram } from '../../rules/subject.js';
import { Restrictions } from '../subjects/restrictions.js';
import { SubjectActions, SUBJECTS, type Given } from '../subjects/subject-actions.js';
import { History } from './history.js';
import { authorOf, ownEntry, pathEnd, type DashboardRequest } from './request-checks.js';

type Checks = Readonly<Partial<Record<keyof Given, OptionCheck>>>;

const required = (check: OptionCheck): OptionCheck => ({ ...check, isRequired: true });
const TEXT = required(matching(/./s, 'a text that is not empty'));
const FIELDS = required({ allowed: 'an object with fields of a rule', accepts: isFields });
/** That of `change`, or 0 without one. */
const VERSION = required(UNSET_OPTIONS.version);
const { reason } = UNSET_OPTIONS;
const LENGTH = required(durationOption);

/** A request that changes something: the fields of its body, and what it does. */
interface Change {
  readonly checks: Checks;
  /** Whether it changes nothing, so that a page that is read-only sends it as well. */
  readonly isRead?: true;
  /** What the author has done with a subject, for the log. */
  readonly done?: string;
  /** Returns the result, or the version of a change of live rules. */
  readonly run: (page: Changes, given: Given) => unknown;
}

/** The changes by the ends of their paths, without those of the application's buttons. */
export const CHANGES: Readonly<Record<string, Change>> = {
  'rules/preview': reading(
    { rule: TEXT, fields: FIELDS, subject: { ...TEXT, isRequired: false } },
    async ({ previews, subjects }, { rule, fields, subject }) =>
      previews.of(rule, fields, subject && (await subjects.textOf(rule, subject))),
  ),
  'rules/set': {
    checks: { rule: TEXT, fields: FIELDS, version: VERSION, reason, expires: durationOption },
    run: ({ limits }, { rule, fields, ...options }) => limits.rules.set(rule, fields, options),
  },
  'rules/unset': {
    checks: { rule: TEXT, version: VERSION, reason },
    run: ({ limits }, { rule, ...options }) => limits.rules.unset(rule, options),
  },
  'rules/undo': { checks: { version: VERSION, reason }, run: ({ history }, given) => history.undo(given) },
  'rules/restore': { checks: { reason }, run: ({ limits }, given) => limits.rules.restore(given) },
  'rules/accept': { checks: { reason }, run: ({ limits }, given) => limits.rules.accept(given) },
  // Its subject is in the body, since logs of requests have their URLs.
  'subjects/find': reading({ subject: TEXT }, ({ restrictions }, { subject }) => restrictions.find(subject)),
  'subjects/reset': ofSubject('reset', 'has reset'),
  'subjects/block': ofSubject('block', 'has blocked', { expires: LENGTH, reason }),
  'subjects/set': ofSubject('set', 'has set an exception of', {
    fields: FIELDS,
    reason,
    expires: durationOption,
  }),
  'subjects/unblock': ofSubject('unblock', 'has unblocked'),
  'subjects/unset': ofSubject('unset', 'has removed the exception of'),
};

/** What users see that `unmaskGuards` allow, by the ends of the paths. */
export const UNMASKS: Readonly<Record<string, Change>> = {
  unmask: reading({ subjects: SUBJECTS }, ({ subjects }, given) => subjects.unmask(given)),
  explain: reading({ id: TEXT }, (page, { id, by }) => page.explain(id, by)),
};

function reading(checks: Checks, run: Change['run']): Change {
  return { checks, isRead: true, run };
}

/** What a method of `SubjectActions` does with a subject of a rule. */
function ofSubject(name: 'reset' | 'block' | 'set' | 'unblock' | 'unset', done: string, checks: Checks = {}) {
  const run: Change['run'] = ({ subjects }, given) => subjects[name]({ ...given }); // The author is read once, and first.
  return { checks: { rule: TEXT, subject: TEXT, ...checks }, done, run };
}

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
    @Inject(DASHBOARD_OPTIONS) private readonly options: DashboardOptions,
  ) {}

  /**
   * Carries out a request, and returns what the page gets.
   *
   * @param unmasking what a request does that shows subjects; by default a change, which shows none
   * @throws ForbiddenException if the page is read-only
   * @throws RateLimitConfigError if the body is no object, lacks a field, or has others
   */
  async run(request: DashboardRequest, unmasking?: Change): Promise<unknown> {
    const [room, name] = pathEnd(request);
    const { author, readOnly } = this.options;
    const action: Change = { checks: {}, run: () => this.act(room, name) };
    const change = unmasking ?? ownEntry(CHANGES, `${room}/${name}`) ?? action;
    if (readOnly && !change.isRead) throw new ForbiddenException('The operations page is read-only.');
    const given: Given = {
      ...readOptions('the body', request.body as Given, change.checks as Required<Checks>),
      /** Read only for what names its author. */
      get by() {
        return authorOf(request, author);
      },
    };
    /** A subject is logged by its id, since a log holds no subjects. */
    const log = (end: string) => {
      const done = `${change.done} the subject with the id ${given.subject} of rule "${escaped(given.rule)}"`;
      this.logger.log(`Operations page: "${escaped(given.by)}" ${done}${end}`);
    };
    try {
      const result = await change.run(this, given);
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

  /** Runs a button of the application. */
  private async act(room: string, id: string): Promise<object> {
    const action = room === 'actions' && this.options.actions?.find((each) => each.id === id);
    if (!action) throw new NotFoundException('There is no such action.');
    const message = await action.run();
    return typeof message === 'string' ? { message } : {};
  }

  /** Returns why a request was denied, with its subjects. */
  async explain(denial: string, by: string): Promise<Explanation<NamedSubject>> {
    const { rules, ...explanation } = await this.limits.explain(denial, { by });
    const { secret } = await this.processes.all();
    const shown = rules.map(({ subject, ...each }) => {
      const counted = subjectFromProgram(subject) ?? '';
      return {
        ...each,
        subject: { ...namedSubject(secret, each.rule, counted), subject: plainText(subject) },
      };
    });
    return { ...explanation, rules: shown };
  }
}
