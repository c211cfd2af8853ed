import { Inject, Injectable, ServiceUnavailableException, type OnModuleDestroy } from '@nestjs/common';
import { entryOf } from '../../contracts/entry-of.js';
import { fieldsIn } from '../../contracts/fields.js';
import { after, type Timer } from '../../contracts/timer.js';
import type { BlockOptions } from '../../limiter/rate-limiter.options.js';
import type { RuleHit } from '../../rules/compiled-rule.js';
import type { Listed, ProcessRecords } from '../../stores/redis/link/process-records.js';
import { ProcessReports } from '../collect/process-reports.js';
import { subjectText } from '../collect/masked.js';

/** Maximum number of blocks in each list: those that end last. */
const MOST_BLOCKS = 500;
/** Maximum number of blocks that a process adds to a list at once, but for those of operators. */
const MOST_ADDED = 100;
const ADDED_EVERY_MS = 1000;

/** The list of blocks of operators. */
const OPERATIONS = 'blocks';
/** The list of thresholds that were crossed. */
const THRESHOLDS = 'thresholds';
/** The lists of blocks. Those of denials and programs may be a flood, which must not replace those of operators. */
const LISTS = ['denials', 'programs', OPERATIONS] as const;

/** A block of a subject under a rule; without an author if a denial began it. Whether it is in force is known to the store only: a reset may have lifted it. */
export interface NotedBlock extends BlockOptions {
  readonly rule: string;
  /** See `subjectText`. */
  readonly subject: string;
  /** When an operation made it, in milliseconds since the epoch. */
  readonly at?: number;
}

/** A threshold that a subject has crossed. Whether it is still above it is known to the store only. */
type NotedCrossing = Pick<NotedBlock, 'rule' | 'subject'> & { readonly threshold: number };

/** A block that was read, and when it ends, in milliseconds since the epoch. */
export type ListedBlock = NotedBlock & { readonly until: number };

/**
 * Lists the blocks and the crossed thresholds of all processes with the operations page: a block itself is a key of its
 * subject, without an author.
 */
@Injectable()
export class Blocks implements OnModuleDestroy {
  private readonly own = new OwnLists();
  private readonly begun = new Map<string, Map<string, number>>();
  private timer: Timer | undefined;

  constructor(@Inject(ProcessReports) private readonly processes: ProcessReports) {
    processes.collector.blocked = (...args) => this.noteAll(...args);
    processes.collector.crossed = ({ name, capacityWindowMs }, subject, threshold) =>
      this.add(THRESHOLDS, { rule: name, subject: subjectText(subject), threshold }, capacityWindowMs);
  }

  onModuleDestroy(): void {
    this.timer?.stop();
  }

  /**
   * Adds a block that an operation has made.
   *
   * @throws ServiceUnavailableException if Redis did not confirm it
   */
  async note(block: NotedBlock, forMs: number): Promise<void> {
    const now = Date.now();
    const text = JSON.stringify({ ...block, at: now });
    const added = this.lists.addListed(OPERATIONS, [[now + forMs, text]], MOST_BLOCKS);
    await available(added, 'The subject is blocked, but not in the list. ');
  }

  /**
   * Returns the blocks that may be in force: each the latest of its subject, and those of operations first.
   *
   * @throws ServiceUnavailableException if Redis cannot be read
   */
  read(): Promise<readonly ListedBlock[]> {
    return this.last(LISTS, ({ at = 0 }: ListedBlock) => at);
  }

  /**
   * Returns the thresholds that subjects may be above, of each subject the highest.
   *
   * @throws ServiceUnavailableException if Redis cannot be read
   */
  crossed(): Promise<readonly NotedCrossing[]> {
    return this.last([THRESHOLDS], ({ threshold }: NotedCrossing) => threshold);
  }

  /**
   * Removes a block that an operation has ended.
   *
   * @throws ServiceUnavailableException if Redis did not confirm it
   */
  async remove(ended: Pick<NotedBlock, 'rule' | 'subject'>): Promise<void> {
    const key = blockKey(ended);
    const isOf = (block: NotedBlock | undefined) => block !== undefined && blockKey(block) === key;
    for (const name of LISTS) {
      const texts = (await available(this.lists.listed(name, 0))).map(([, text]) => text);
      const found = texts.filter((text) => isOf(parsed(text)));
      if (found.length > 0) await available(this.lists.removeListed(name, found));
    }
  }

  private get lists(): Pick<ProcessRecords, 'addListed' | 'listed' | 'removeListed'> {
    return this.processes.records ?? this.own;
  }

  /** Returns what lists have of each rule and subject: the last one in an order, the last of all first. */
  private async last<Noted extends Pick<NotedBlock, 'rule' | 'subject'>>(
    names: readonly string[],
    orderOf: (noted: Noted) => number,
  ): Promise<readonly Noted[]> {
    const lists = await available(Promise.all(names.map((name) => this.lists.listed(name, Date.now()))));
    const notes = lists.flat().flatMap(([until, text]) => {
      const noted = parsed(text);
      return noted ? [{ ...noted, until } as unknown as Noted] : [];
    });
    const sorted = notes.sort((one, other) => orderOf(one) - orderOf(other));
    return [...new Map(sorted.map((noted) => [blockKey(noted), noted])).values()].reverse();
  }

  private noteAll(hits: readonly RuleHit[], forMs: number, author?: BlockOptions): void {
    for (const { rule, subject } of hits) {
      const block = { rule: rule.name, subject: subjectText(subject), ...author };
      this.add(author === undefined ? 'denials' : 'programs', block, forMs);
    }
  }

  private add(name: string, noted: object, forMs: number): void {
    const begun = entryOf(this.begun, name, () => new Map<string, number>());
    const text = JSON.stringify(noted);
    if (begun.size < MOST_ADDED || begun.has(text)) begun.set(text, Date.now() + forMs);
    this.timer ??= after(ADDED_EVERY_MS, () => void this.addBegun());
  }

  private async addBegun(): Promise<void> {
    this.timer = undefined;
    const all = [...this.begun];
    this.begun.clear();
    for (const [name, begun] of all) {
      const added = [...begun].map(([text, end]) => [end, text] as const);
      await this.lists.addListed(name, added, MOST_BLOCKS).catch(() => undefined); // The breaker reports it.
    }
  }
}

/** The lists of a process that counts in its memory. */
class OwnLists {
  private readonly lists = new Map<string, readonly Listed[]>();

  async addListed(name: string, added: readonly Listed[], most: number): Promise<void> {
    const all = [...(await this.listed(name, Date.now())), ...added];
    const latest = [...new Map(all.map((each) => [each[1], each])).values()];
    this.lists.set(name, latest.sort(([one], [other]) => one - other).slice(-most));
  }

  async listed(name: string, from: number): Promise<readonly Listed[]> {
    return (this.lists.get(name) ?? []).filter(([end]) => end >= from);
  }

  async removeListed(name: string, texts: readonly string[]): Promise<void> {
    this.lists.set(name, this.lists.get(name)?.filter(([, text]) => !texts.includes(text)) ?? []);
  }
}

/** @throws ServiceUnavailableException if a list cannot be read or changed */
function available<Result>(operation: Promise<Result>, consequence = ''): Promise<Result> {
  return operation.catch((error: unknown) => {
    const { message } = error as Error;
    throw new ServiceUnavailableException(`${consequence}The list of blocks is not available: ${message}`);
  });
}

/** Returns a key of the rule and the subject of a block. */
export function blockKey({ rule, subject }: Pick<NotedBlock, 'rule' | 'subject'>): string {
  return JSON.stringify([rule, subject]);
}

/** Reads a block; `undefined` if another program wrote the text. */
function parsed(text: string): NotedBlock | undefined {
  const read = fieldsIn(text);
  const isBlock = typeof read?.['rule'] === 'string' && typeof read['subject'] === 'string';
  return isBlock ? (read as unknown as NotedBlock) : undefined;
}
