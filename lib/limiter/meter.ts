/** Attributes of a measurement. */
export type MeterAttributes = Record<string, string | number>;

/** Options of an instrument. */
export interface InstrumentOptions {
  /** One sentence on what is measured. */
  readonly description: string;
  /** Unit, such as `s`. */
  readonly unit: string;
  /** Bucket boundaries of a histogram. */
  readonly advice?: { explicitBucketBoundaries: number[] };
}

/** Reports the values of a gauge when it is collected. */
export type GaugeCallback = (result: { observe(value: number, attributes: MeterAttributes): void }) => void;

/** The methods of OpenTelemetry's `Meter` that `recordMetrics` calls. */
export interface Meter {
  /** Creates a counter. */
  createCounter(
    name: string,
    options: InstrumentOptions,
  ): { add(value: number, attributes: MeterAttributes): unknown };
  /** Creates a histogram. */
  createHistogram(
    name: string,
    options: InstrumentOptions,
  ): { record(value: number, attributes: MeterAttributes): unknown };
  /** Creates a gauge that is read when it is collected. */
  createObservableGauge(
    name: string,
    options: InstrumentOptions,
  ): { addCallback(callback: GaugeCallback): void; removeCallback(callback: GaugeCallback): void };
}
