import { Inject, Injectable, Logger, UnprocessableEntityException } from '@nestjs/common';
import { isFields } from '../../contracts/fields.js';
import { escaped } from '../../contracts/shown.js';
import { subjectForPrograms } from '../../rules/subject.js';
import { ProcessReports } from '../collect/process-reports.js';
import { subjectOfId, subjectOfText } from './masked.js';

/** Maximum number of subjects in one request. */
const MOST = 100;

/**
 * Shows subjects to users with the right to see them. Whatever names a subject on the page has its masked text and its
 * id, which only this class decrypts for the page.
 */
@Injectable()
export class Unmasking {
  private readonly logger = new Logger('RateLimit');

  constructor(@Inject(ProcessReports) private readonly processes: ProcessReports) {}

  /**
   * Returns the texts of subjects, and logs who has seen them: by their ids, since a log holds no subjects.
   *
   * @param wanted a list of `{ rule, id }`
   * @throws UnprocessableEntityException if it is none, or an id is of no subject of its rule
   */
  async of(wanted: unknown, by: string): Promise<readonly string[]> {
    const { secret } = await this.processes.all();
    const texts = listOf(wanted).map(({ rule, id }) => {
      const text = subjectOfId(secret, rule, id);
      if (text !== undefined) return plain(text);
      throw new UnprocessableEntityException('There is no such subject; reload the page.');
    });
    const ids = listOf(wanted).map(({ rule, id }) => `${id} of rule "${escaped(rule)}"`);
    this.logger.log(`Operations page: "${escaped(by)}" has seen the subject with the id ${ids.join(', ')}.`);
    return texts;
  }
}

function listOf(wanted: unknown): readonly { readonly rule: string; readonly id: string }[] {
  const isSubject = (each: unknown) =>
    isFields(each) && typeof each['rule'] === 'string' && typeof each['id'] === 'string';
  if (Array.isArray(wanted) && wanted.length > 0 && wanted.length <= MOST && wanted.every(isSubject))
    return wanted as { rule: string; id: string }[];
  throw new UnprocessableEntityException(`subjects: has to be a list of { rule, id }, at most ${MOST}`);
}

function plain(text: string): string {
  return [subjectForPrograms(subjectOfText(text))].flat().map(String).join(' | ');
}
