/** One figure of a benchmark. */
export interface BenchRow {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  /** What design and docs aim at, for the reader; a bench fails nothing. */
  readonly goal?: string;
}
