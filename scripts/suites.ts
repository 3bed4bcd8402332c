export interface Suite {
  readonly name: string;
  /** `node` and a script of this repository, with its parameters. */
  readonly command: readonly string[];
  /** The suite writes no summary: it counts as one test, and its exit code is the result. */
  readonly verdict?: "exit-code";
  /** Waits for a good part of its time, or is short: runs while the others do, one of its kind at a time. */
  readonly beside?: true;
}

function demoOn(provider: string): Suite {
  const command = ["node", "examples/agent-run/demo.ts", "--plain", "--provider", provider];
  return { name: `demo-${provider}`, command, verdict: "exit-code", beside: true };
}

/** What `pnpm test` runs, in this order, each in a process of its own. */
export const suites: readonly Suite[] = [
  { name: "unit", command: ["node", "scripts/unit.ts"] },
  { name: "conformance", command: ["node", "test/src/cli/conformance.ts"] },
  { name: "simulation", command: ["node", "test/src/cli/simulate.ts", "--seeds", "10000"] },
  { name: "servers", command: ["node", "scripts/unit.ts", "--servers"], beside: true },
  { name: "demo", command: ["node", "examples/agent-run/demo.ts", "--plain"], verdict: "exit-code", beside: true },
  demoOn("sqs"),
  demoOn("pubsub"),
  demoOn("servicebus"),
  // The same tasks on each of them once more, to hold the records against each other.
  demoOn("all"),
  { name: "mutants", command: ["node", "test/src/cli/mutants.ts"], beside: true },
];
