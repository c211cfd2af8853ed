import { mergeFrequent, SpaceSaving, type Frequent } from './space-saving.js';

const SIZE = 128;
const ROTATED_AFTER_S = 300;

/** The subjects with the most denied requests of the last 5 to 10 minutes: two sketches, of 5 minutes each. */
export class DeniedSubjects {
  private current = new SpaceSaving(SIZE);
  private before: SpaceSaving | undefined;
  private since: number | undefined;

  /**
   * @param subject the text of a subject, see `subjectText`
   * @param route the route of the counter that denied; absent if routes share it
   */
  add(second: number, subject: string, route: string | undefined): void {
    this.rotate(second);
    this.current.add(subject, route);
  }

  list(second: number, most: number): Frequent {
    this.rotate(second);
    const { current, before } = this;
    return mergeFrequent(before ? [before.list(), current.list()] : [current.list()], most);
  }

  private rotate(second: number): void {
    this.since ??= second;
    const age = second - this.since;
    if (age < ROTATED_AFTER_S) return;
    this.before = age < 2 * ROTATED_AFTER_S ? this.current : undefined;
    this.current = new SpaceSaving(SIZE);
    this.since = second;
  }
}
