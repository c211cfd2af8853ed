/** What a measurement is told apart by. */
export type MeterAttributes = Record<string, string | number>;

/** How an instrument is made. */
export interface InstrumentOptions {
  readonly description: string;
  readonly unit: string;
  readonly advice?: { explicitBucketBoundaries: number[] };
}

/** Tells a gauge's values when they are asked for. */
export type GaugeCallback = (result: { observe(value: number, attributes: MeterAttributes): void }) => void;

/** As much of OpenTelemetry's `Meter` as is used here: its own fits, and nobody has to install it. */
export interface Meter {
  createCounter(
    name: string,
    options: InstrumentOptions,
  ): { add(value: number, attributes: MeterAttributes): unknown };
  createHistogram(
    name: string,
    options: InstrumentOptions,
  ): { record(value: number, attributes: MeterAttributes): unknown };
  createObservableGauge(
    name: string,
    options: InstrumentOptions,
  ): { addCallback(callback: GaugeCallback): void; removeCallback(callback: GaugeCallback): void };
}
