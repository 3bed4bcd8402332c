import type { Case, Harness, Suite } from "./case.ts";

/** What became of one case on one target. */
export interface CaseResult {
  readonly target: string;
  /** `queue`, `store`, `lifecycle`. */
  readonly part: string;
  readonly subject: string;
  readonly name: string;
  readonly status: "passed" | "failed" | "skipped";
  /** Why it was skipped, or how it failed. */
  readonly reason?: string;
  readonly durationMs: number;
}

/** Where the servers of a run are. */
export interface Place {
  /**
   * The address of a server to use instead of an embedded one, for targets that have one; `aws`, `gcp`: the account, or the
   * project, that the environment names.
   */
  readonly endpoint?: string;
  /** Of a Service Bus namespace, or of Microsoft's emulator, to use instead of an embedded one. */
  readonly connectionString?: string;
}

export interface RunOptions extends Place {
  /** Only cases with this text in `<part> / <subject> / <name>`. */
  readonly only?: string;
  /** Real time after which a case has failed, ms. Generous: it ends hangs and judges no speed. Default 60 s. */
  readonly watchdogMs?: number | undefined;
  /** Cases that are open at the same time, for a server that takes few connections. Default: what the target says for that place. */
  readonly sideBySide?: number;
  /** Called as results come in. */
  readonly onResult?: (result: CaseResult) => void;
}

/** One target: a driver or a store in one environment, and the suites that it has to pass. */
export interface Target {
  /** `memory`, or `memory/<variant>`. */
  readonly name: string;
  readonly parts: readonly Part[];
}

/** The suites of one part of the contract, with the harness that a target has for them. */
export interface Part {
  readonly name: string;
  run(target: string, options: RunOptions): Promise<readonly CaseResult[]>;
}

/** How a target makes the harness of a part. */
export interface HarnessSource<H extends Harness> {
  open(place: Place): Promise<H>;
  /** Cases that share one harness: each has its own (`case`, the default), or those of one suite have one together. */
  readonly per?: "case" | "suite";
  /** How its cases are run at that place. Default: one after the other, as it is right where no time is waited for. */
  readonly pace?: (place: Place) => Pace | undefined;
}

/** How cases are run that wait in real time. */
export interface Pace {
  /** Harnesses that are open at the same time. */
  readonly sideBySide: number;
  /** Between the first of them, ms: opening all at once keeps a machine so busy that waits end late. Default 0. */
  readonly apartMs?: number;
  /** Takes the place of the watchdog's default. */
  readonly watchdogMs: number;
}

const DEFAULT_WATCHDOG_MS = 60_000;
const ONE_BY_ONE: Omit<Pace, "watchdogMs"> = { sideBySide: 1 };

/** Binds suites to the harness of a target. */
export function part<H extends Harness>(name: string, suites: readonly Suite<H>[], source: HarnessSource<H>): Part {
  return {
    name,
    async run(target, options) {
      const groups = suites.flatMap(({ subject, cases }) => {
        const label = (one: Case<H>): string => `${name} / ${subject} / ${one.name}`;
        const chosen = cases.filter((one) => options.only === undefined || label(one).includes(options.only));
        return (source.per === "suite" ? [chosen] : chosen.map((one) => [one])).map((group) => ({ subject, group }));
      });
      const pace = source.pace?.(options);
      const many = options.sideBySide === undefined ? {} : { sideBySide: options.sideBySide };
      const results = await eachSideBySide(groups, { ...(pace ?? ONE_BY_ONE), ...many }, async ({ subject, group }) => {
        const outcomes = await runGroup(group, source, { watchdogMs: pace?.watchdogMs, ...options });
        return outcomes.map((outcome) => {
          const result = { target, part: name, subject, ...outcome };
          options.onResult?.(result);
          return result;
        });
      });
      return results.flat();
    },
  };
}

/** Works through the items, so many at a time, and answers in their order. */
async function eachSideBySide<T, R>(
  items: readonly T[],
  { sideBySide, apartMs = 0 }: Omit<Pace, "watchdogMs">,
  work: (item: T) => Promise<R>,
): Promise<readonly R[]> {
  const results: R[] = [];
  const queue = items.entries();
  const lane = async (number: number): Promise<void> => {
    if (apartMs > 0) await new Promise((resolve) => setTimeout(resolve, number * apartMs));
    for (const [index, item] of queue) results[index] = await work(item);
  };
  await Promise.all(Array.from({ length: sideBySide }, (_, number) => lane(number)));
  return results;
}

type GroupResult = Pick<CaseResult, "name" | "status" | "reason" | "durationMs">;

/** Runs cases on one harness. What the harness finds wrong when it is closed (a timer left behind) counts against the last one. */
async function runGroup<H extends Harness>(
  cases: readonly Case<H>[],
  source: HarnessSource<H>,
  options: RunOptions,
): Promise<readonly GroupResult[]> {
  if (cases.length === 0) return [];
  const { watchdogMs = DEFAULT_WATCHDOG_MS } = options;
  let harness: H;
  try {
    harness = await within(watchdogMs, "opening the harness", source.open(options));
  } catch (error) {
    return cases.map(({ name }) => ({ name, status: "failed", reason: describe(error), durationMs: 0 }));
  }
  const results: GroupResult[] = [];
  for (const one of cases) results.push(await runCase(one, harness, watchdogMs));
  try {
    await within(watchdogMs, "closing the harness", harness.close());
  } catch (error) {
    const last = results.pop() as GroupResult;
    const reason = [last.status === "failed" ? last.reason : undefined, `after the case: ${describe(error)}`];
    results.push({ ...last, status: "failed", reason: reason.filter((text) => text !== undefined).join("\n") });
  }
  return results;
}

async function runCase<H extends Harness>(one: Case<H>, harness: H, watchdogMs: number): Promise<GroupResult> {
  const { name, needs = [] } = one;
  const missing = needs.filter((need) => !harness.has.has(need));
  const reason = missing.length > 0 ? `the target lacks: ${missing.join(", ")}` : one.unless?.(harness);
  if (reason !== undefined) return { name, status: "skipped", reason, durationMs: 0 };
  const startedMs = performance.now();
  const elapsedMs = (): number => Math.round(performance.now() - startedMs);
  try {
    await within(watchdogMs, "the case", one.run(harness));
    return { name, status: "passed", durationMs: elapsedMs() };
  } catch (error) {
    return { name, status: "failed", reason: describe(error), durationMs: elapsedMs() };
  }
}

function within<T>(watchdogMs: number, what: string, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const watchdog = setTimeout(() => {
      reject(new Error(`${what} has not ended within ${watchdogMs} ms of real time`));
    }, watchdogMs);
    work.then(resolve, reject).finally(() => clearTimeout(watchdog));
  });
}

/** The message, and the line of the case where it came from. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const place = /\(?(?:file:\/\/)?\S*?([^/\s]+\.(?:cases|test)\.ts:\d+)/.exec(error.stack ?? "")?.[1];
  return place === undefined ? error.message : `${error.message} (${place})`;
}

/** Runs one target. */
export async function runTarget(target: Target, options: RunOptions = {}): Promise<readonly CaseResult[]> {
  const results: CaseResult[] = [];
  for (const one of target.parts) results.push(...(await one.run(target.name, options)));
  return results;
}
