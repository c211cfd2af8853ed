import { randomBytes } from 'node:crypto';
import type { ProcessRecords } from '../../stores/redis/link/process-records.js';
import type { Collector } from './collector.js';
import {
  emptyMinute,
  lastMinutes,
  mergedMinutes,
  MINUTE_MS,
  readMinute,
  type MinuteCounts,
} from './counts.js';
import { readReport, type ProcessReport } from './process-report.js';

/** A process that has not reported for this long is silent, in milliseconds. */
export const SILENT_MS = 5000;
/** Minutes that are read each time: others may still add to them. All are read once a minute. */
const READ_AGAIN = 3;

/** A report, and when it was published. */
export type SeenReport = NonNullable<ReturnType<typeof seenReport>>;

/** The reports of all processes. */
export type AllReports = Awaited<ReturnType<ReportReader['read']>>;

/** Reads the reports of all processes, and keeps the last ones while Redis cannot be read. */
export class ReportReader {
  private known = {
    /** Those of processes that were killed or have ended lately, too. */
    reports: [] as readonly SeenReport[],
    /** A random text that these processes share. */
    secret: randomBytes(32).toString('hex'),
    /** Number of processes whose reports have another form. */
    unreadable: 0,
    at: Date.now(),
  };
  /** The minutes that processes have added. */
  private readonly added = new Map<number, MinuteCounts>();
  private allReadIn = 0;

  async read(records: ProcessRecords | undefined, own: () => ProcessReport, { clock, minutes }: Collector) {
    const messageOf = (error: unknown): string => (error as Error).message;
    const reason = await this.readOthers(records, clock()).catch(messageOf);
    const now = clock();
    const report = { ...own(), seenMs: 0, isCurrent: true };
    const { at, reports, ...rest } = this.known;
    const others = reports
      .filter(({ id }) => id !== report.id)
      .map((each) => ({ ...each, seenMs: each.seenMs + (reason === undefined ? 0 : now - at) }));
    const last = Math.floor(now / MINUTE_MS);
    const published = reports.find(({ id }) => id === report.id)?.minute;
    const counted = records ? unadded(minutes.kept, published) : sinceStart(minutes.kept, report.since, last);
    const parts = [...this.added.values(), ...others.flatMap(({ minute }) => minute ?? []), ...counted];
    return {
      ...rest,
      /** That of this process first. */
      reports: [report, ...others] as readonly SeenReport[],
      /** What all processes have counted in each minute of the last hour that is known, the oldest first. */
      minutes: mergedMinutes(parts, last),
      /** Why Redis cannot be read, and until when, in milliseconds since the epoch, the figures are those of all processes. */
      outage: reason === undefined ? undefined : { reason, at },
    };
  }

  private async readOthers(records: ProcessRecords | undefined, now: number): Promise<undefined> {
    if (!records) return;
    const last = Math.floor(now / MINUTE_MS);
    const wanted = lastMinutes(last).slice(this.allReadIn === last ? -READ_AGAIN : 0);
    const { secret, records: found, minutes } = await records.read(wanted);
    const read = found.map(({ text, leftMs }) => seenReport(text, leftMs));
    const reports = read.filter((report) => report !== undefined);
    this.known = { reports, secret, unreadable: read.length - reports.length, at: now };
    if (wanted.length > READ_AGAIN) this.added.clear();
    for (const [index, minute] of wanted.entries()) this.keep(minute, minutes[index] ?? null);
    this.allReadIn = last;
  }

  private keep(minute: number, text: string | null): void {
    const counts = text === null ? undefined : readMinute(JSON.parse(text), minute);
    if (counts) this.added.set(minute, counts);
    else this.added.delete(minute); // Redis has lost it.
  }
}

function seenReport(text: string, leftMs: number) {
  const report = readReport(text);
  if (!report) return undefined;
  const seenMs = Math.max(0, report.keptMs - leftMs);
  return {
    ...report,
    /** Milliseconds since it was published. */
    seenMs,
    /** Whether the process still reports. */
    isCurrent: seenMs <= SILENT_MS && !report.hasEnded,
  };
}

/**
 * Returns the minutes of this process that are not among the added ones.
 *
 * @param published the first of them when the others were read; this process may have added it since
 */
function unadded(kept: readonly MinuteCounts[], published?: MinuteCounts): readonly MinuteCounts[] {
  if (!published) return kept;
  const later = kept.filter(({ minute }) => minute >= published.minute);
  return later[0]?.minute === published.minute ? later : [published, ...later];
}

/** Returns the minutes of a process that is alone, also those without requests. */
function sinceStart(kept: readonly MinuteCounts[], since: number, last: number): readonly MinuteCounts[] {
  const empty = lastMinutes(last).filter((minute) => minute >= Math.floor(since / MINUTE_MS));
  return [...kept, ...empty.map(emptyMinute)];
}
