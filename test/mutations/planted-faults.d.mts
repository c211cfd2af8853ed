export interface PlantedFault {
  readonly part: string;
  readonly words: string;
  readonly file: string;
  readonly text: string;
  readonly by: string;
  readonly specs: readonly string[];
}

export const PLANTED_FAULTS: readonly PlantedFault[];
