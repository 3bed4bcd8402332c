import type { Harness, Suite } from "./case.ts";

/** Why a case cannot hold on one target, although it is no fault of the driver. */
export interface Difference {
  readonly reason: string;
  /** Where that can be read. */
  readonly link: string;
}

/** The suites, with differences of one target declared by the names of cases. Throws for a name that no case has. */
export function withDifferences<H extends Harness>(
  suites: readonly Suite<H>[],
  differences: Readonly<Record<string, Difference>>,
): readonly Suite<H>[] {
  const names = new Set(suites.flatMap(({ cases }) => cases.map(({ name }) => name)));
  const strangers = Object.keys(differences).filter((name) => !names.has(name));
  if (strangers.length > 0) throw new Error(`no case is called: ${strangers.join("; ")}`);
  return suites.map(({ subject, cases }) => ({
    subject,
    cases: cases.map((one) => {
      const difference = differences[one.name];
      if (difference === undefined) return one;
      return { ...one, unless: () => `${difference.reason} (${difference.link})` };
    }),
  }));
}
