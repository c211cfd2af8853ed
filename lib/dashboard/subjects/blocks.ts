import { Inject, Injectable, type OnModuleDestroy } from '@nestjs/common';
import { isFields } from '../../contracts/fields.js';
import { after, type Timer } from '../../contracts/timer.js';
import type { RuleHit } from '../../rules/compiled-rule.js';
import type { ProcessRecords } from '../../stores/redis/link/process-records.js';
import { ProcessReports } from '../collect/process-reports.js';
import { subjectText } from './masked.js';

/** Maximum number of blocks in each list: those that end last. */
const MOST_BLOCKS = 500;
/** Maximum number of blocks of denials that a process adds at once. */
const MOST_ADDED = 100;
const ADDED_EVERY_MS = 1000;

/** The lists of blocks. Those of denials may be a flood of clients, which must not replace those of operators. */
const LISTS = { operations: 'blocks', denials: 'denials' } as const;

/** A block of a subject under a rule. Whether it has ended is known to the store only: a reset may have lifted it. */
export interface NotedBlock {
  readonly rule: string;
  /** See `subjectText`. */
  readonly subject: string;
  /** Its author; absent if a denial began it. */
  readonly by?: string;
  readonly reason?: string;
  /** When an operation made it, in milliseconds since the epoch. */
  readonly at?: number;
}

/** Lists the blocks of all processes with the operations page: a block itself is a key of its subject, without an author. */
@Injectable()
export class Blocks implements OnModuleDestroy {
  private readonly own = new OwnLists();
  private readonly begun = new Map<string, number>();
  private timer: Timer | undefined;

  constructor(@Inject(ProcessReports) private readonly processes: ProcessReports) {
    processes.collector.blocked = (hits, ms, by) => this.noteAll(hits, ms, by);
  }

  onModuleDestroy(): void {
    this.timer?.stop();
  }

  /** Adds a block that an operation has made. */
  async note(block: NotedBlock, forMs: number): Promise<void> {
    const now = Date.now();
    const text = JSON.stringify({ ...block, at: now });
    await this.lists.addListed(LISTS.operations, [[now + forMs, text]], MOST_BLOCKS);
  }

  /** Returns the blocks that may be in force: those of operations first, each the latest of its subject. */
  async read(): Promise<readonly NotedBlock[]> {
    const names = [LISTS.denials, LISTS.operations];
    const lists = await Promise.all(names.map((name) => this.lists.listed(name, Date.now())));
    const blocks = lists.flat().flatMap((text) => parsed(text) ?? []);
    const sorted = blocks.sort((one, other) => (one.at ?? 0) - (other.at ?? 0));
    return [...new Map(sorted.map((block) => [keyOf(block), block])).values()].reverse();
  }

  /** Removes blocks that are not in force any more. */
  async remove(ended: readonly Pick<NotedBlock, 'rule' | 'subject'>[]): Promise<void> {
    if (ended.length === 0) return;
    const keys = new Set(ended.map(keyOf));
    for (const name of Object.values(LISTS)) {
      const texts = await this.lists.listed(name, 0);
      const found = texts.filter((text) => keys.has(keyOf(parsed(text) ?? { rule: '', subject: '' })));
      if (found.length > 0) await this.lists.removeListed(name, found);
    }
  }

  private get lists(): Pick<ProcessRecords, 'addListed' | 'listed' | 'removeListed'> {
    return this.processes.records ?? this.own;
  }

  private noteAll(hits: readonly RuleHit[], forMs: number, by: string | undefined): void {
    for (const { rule, subject } of hits) {
      const block = { rule: rule.name, subject: subjectText(subject) };
      if (by !== undefined) void this.note({ ...block, by }, forMs).catch(() => undefined);
      else this.begin(JSON.stringify(block), Date.now() + forMs);
    }
  }

  private begin(block: string, until: number): void {
    if (this.begun.size < MOST_ADDED) this.begun.set(block, until);
    this.timer ??= after(ADDED_EVERY_MS, () => {
      this.timer = undefined;
      const added = [...this.begun].map(([text, end]) => [end, text] as const);
      this.begun.clear();
      void this.lists.addListed(LISTS.denials, added, MOST_BLOCKS).catch(() => undefined);
    });
  }
}

/** The lists of a process that counts in its memory. */
class OwnLists {
  private readonly lists = new Map<string, Map<string, number>>();

  async addListed(name: string, added: readonly (readonly [number, string])[], most: number): Promise<void> {
    const all = [...(this.lists.get(name) ?? []), ...added.map(([score, text]) => [text, score] as const)];
    const sorted = [...new Map(all)].sort(([, one], [, other]) => one - other);
    this.lists.set(name, new Map(sorted.slice(-most)));
  }

  async listed(name: string, from: number): Promise<readonly string[]> {
    return [...(this.lists.get(name) ?? [])].filter(([, score]) => score >= from).map(([text]) => text);
  }

  async removeListed(name: string, texts: readonly string[]): Promise<void> {
    for (const text of texts) this.lists.get(name)?.delete(text);
  }
}

function keyOf({ rule, subject }: Pick<NotedBlock, 'rule' | 'subject'>): string {
  return JSON.stringify([rule, subject]);
}

/** Reads a block; `undefined` if another program wrote the text. */
function parsed(text: string): NotedBlock | undefined {
  try {
    const read: unknown = JSON.parse(text);
    const isBlock = isFields(read) && typeof read['rule'] === 'string' && typeof read['subject'] === 'string';
    return isBlock ? (read as unknown as NotedBlock) : undefined;
  } catch {
    return undefined;
  }
}
