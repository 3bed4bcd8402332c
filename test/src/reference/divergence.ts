/** Something that a server does otherwise than the service; one case on one or more targets fails by it. */
export interface Divergence {
  /** The name of the case. */
  readonly case: string;
  /** On which of the server's targets. */
  readonly targets: readonly string[];
  /** What the server does. */
  readonly does: string;
  /** What the service does. */
  readonly service: string;
  /** Where what the service does is written. */
  readonly source: string;
  /** What the failure of the case says: another failure is not this one. */
  readonly shows: RegExp;
  /** Whether it shows depends on who comes first, or on numbers drawn at random: the case may pass. Default: it always fails. */
  readonly sometimes?: true;
}
