import { COMPARED, type ComparedRun, type ComparedTask, comparedValues, type Difference } from "./compare.ts";
import { receiptText } from "./progress.ts";
import { textTable } from "./text-table.ts";

/** A row per task, a column per provider; what is equal to the first is not said twice. The last line is the verdict. */
export function sideBySide(runs: readonly ComparedRun[], differences: readonly Difference[]): string[] {
  const [first, ...others] = runs;
  if (first === undefined) return [];
  const rows = first.tasks.map((task) => [
    task.key,
    summaryOf(task),
    ...others.map(({ provider }) => {
      const count = differences.filter((each) => each.key === task.key && each.provider === provider).length;
      return count === 0 ? "same" : `${counted(count, "field")} ${count === 1 ? "differs" : "differ"}`;
    }),
  ]);
  return [
    ...textTable(["task", ...runs.map(({ provider }) => provider)], rows, 90),
    "",
    ...differences.map(
      ({ key, field, provider, value, first: expected }) =>
        `differs: ${key}: ${field}: ${expected.provider} has ${shown(expected.value)}, ${provider} has ${shown(value)}`,
    ),
    verdictOf(runs, differences),
  ];
}

const shown = (value: string | undefined): string => value ?? "none";

function summaryOf({ record }: ComparedTask): string {
  if (record === undefined) return "no record";
  const effects = Object.entries(record.effects).map(([name, { state }]) => `${name} ${state}`);
  const receipt = receiptText(record);
  return [record.status, `attempt ${record.attempt}`, ...(receipt === "" ? effects : [receipt])].join(", ");
}

function verdictOf(runs: readonly ComparedRun[], differences: readonly Difference[]): string {
  const tasks = runs[0]?.tasks ?? [];
  const providers = listed(runs.map(({ provider }) => provider));
  if (differences.length > 0) {
    const hit = new Set(differences.map(({ key }) => key)).size;
    return `comparison: FAILED: ${counted(differences.length, "value")} of ${counted(hit, "task")} ${differences.length === 1 ? "differs" : "differ"} between ${providers}`;
  }
  const values = tasks.reduce((total, task) => total + comparedValues(task).size, 0);
  return `comparison: passed: ${counted(tasks.length, "record")} with ${counted(values, "value")} of ${listed(COMPARED)} are the same on ${providers}`;
}

const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? "" : "s"}`;

function listed(names: readonly string[]): string {
  return names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}
