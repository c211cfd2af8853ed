import { Inject, Injectable, ServiceUnavailableException } from '@nestjs/common';
import { sleep } from '../../contracts/timer.js';
import type { ProcessRecords } from '../../stores/redis/link/process-records.js';
import { ProcessReports } from './process-reports.js';

/** Processes look for questions once a second. */
const LONGEST_WAIT_MS = 2500;
/** Processes ask one after another. The page gives up after 15 seconds. */
const LONGEST_QUEUE_MS = 10_000;
const LOOK_EVERY_MS = 100;

interface Asked {
  /** The processes; by default all that report. */
  readonly ids?: readonly string[];
  /** How long to wait for other questions, and for answers, in milliseconds. */
  readonly queueMs?: number;
  readonly waitMs?: number;
}

/** Between the kind of a question and its text: names of rules have no control characters. */
const END_OF_KIND = '\n';

export const BUSY = 'Other previews are being calculated; try again in 5 seconds.';

/** Sends questions to the other processes, and answers theirs. */
@Injectable()
export class ProcessQuestions {
  private readonly answers = new Map<string, (text: string) => unknown>();

  constructor(@Inject(ProcessReports) private readonly processes: ProcessReports) {
    processes.answer = (question) => {
      const end = question.indexOf(END_OF_KIND);
      const answer = this.answers.get(question.slice(0, end))?.(question.slice(end + 1));
      return answer === undefined ? undefined : JSON.stringify(answer);
    };
  }

  /** Answers questions of a kind with a value of JSON. */
  answerBy(kind: string, answer: (text: string) => unknown): void {
    this.answers.set(kind, answer);
  }

  /**
   * Returns the answers of other processes as JSON; `null` for one that has not answered.
   *
   * @throws ServiceUnavailableException if other questions are open for too long, or Redis cannot be read
   */
  async ask(kind: string, text: string, asked: Asked = {}): Promise<readonly (string | null)[]> {
    const { records, id: own } = this.processes;
    const reporting = async () => (await this.processes.all()).reports.filter(({ isCurrent }) => isCurrent);
    const ids = asked.ids ?? (await reporting()).map(({ id }) => id);
    const others = ids.filter((id) => id !== own);
    if (!records || others.length === 0) return [];
    return answersOf(records, kind + END_OF_KIND + text, others, asked).catch((error: unknown) => {
      if (error instanceof ServiceUnavailableException) throw error;
      throw new ServiceUnavailableException(`Redis cannot be read: ${(error as Error).message}`);
    });
  }
}

async function answersOf(
  records: ProcessRecords,
  text: string,
  ids: readonly string[],
  { queueMs = LONGEST_QUEUE_MS, waitMs = LONGEST_WAIT_MS }: Asked,
): Promise<readonly (string | null)[]> {
  const question = await until(queueMs, () => records.ask(text), Boolean);
  if (!question) throw new ServiceUnavailableException(BUSY);
  const look = () => records.answers(question, ids);
  return until(waitMs, look, (found) => !found.includes(null)).finally(() => records.close(question));
}

/** Looks again and again until what is found is wanted, and returns it; after a time, whatever is found. */
async function until<Found>(
  longestMs: number,
  look: () => Promise<Found>,
  isWanted: (found: Found) => boolean,
): Promise<Found> {
  const end = performance.now() + longestMs;
  for (;;) {
    const found = await look();
    if (isWanted(found) || performance.now() > end) return found;
    await sleep(LOOK_EVERY_MS);
  }
}
