/** A rule with other fields, and what it decides on the counters of the rule. */
export type Step = readonly [changes: Readonly<Record<string, unknown>>, timeline: string];

/** Cases by the algorithm: each is a sentence and its steps, one after the other. */
export type Timelines = Readonly<
  Record<
    string,
    {
      readonly rule: Readonly<Record<string, unknown>>;
      readonly cases: readonly (readonly [title: string, ...steps: readonly Step[]])[];
    }
  >
>;
