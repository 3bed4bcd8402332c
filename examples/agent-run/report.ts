import type { Counts } from "./counts.ts";
import { FAULTS, type FaultKind } from "./faults.ts";
import type { Ledger } from "./ledger.ts";
import type { LedgerVerdict, RunTask } from "./ledger-check.ts";
import { receiptText, seconds } from "./progress.ts";
import type { ToolCall } from "./task-file.ts";
import { textTable } from "./text-table.ts";

/** What became of a planned fault. */
export interface FaultHit {
  readonly kind: FaultKind;
  readonly call: ToolCall;
  readonly happened: boolean;
}

export interface Report {
  readonly tasks: readonly RunTask[];
  readonly hits: readonly FaultHit[];
  readonly ledger: Ledger;
  readonly verdict: LedgerVerdict;
  readonly expired: Counts;
  readonly lost: Counts;
  readonly duplicates: Counts;
  readonly rings: Counts;
  readonly workerDeaths: number;
  readonly elapsedMs: number;
}

/** Everything but the last line. */
export function reportLines(report: Report): string[] {
  return [
    ...taskTable(report),
    "",
    ...faultLines(report),
    "",
    `attempts         ${sum(report.tasks.map(({ record }) => record?.attempts_total ?? 0))} for ${report.tasks.length} tasks in ${seconds(report.elapsedMs)}; ${report.workerDeaths} worker${report.workerDeaths === 1 ? "" : "s"} died and had a successor`,
    `leases expired   ${countsText(report.expired)}`,
    `handlers stopped ${countsText(report.lost)}`,
    `duplicates       ${countsText(report.duplicates)}`,
    `rings            ${countsText(report.rings)}`,
    `external system  ${report.ledger.writes} writes arrived, ${report.ledger.entries.length} things are there`,
    ...parkedLines(report),
  ];
}

export function faultLines({ hits }: Pick<Report, "hits">): string[] {
  return [
    "What went wrong on purpose:",
    ...hits.map(
      ({ kind, call, happened }) =>
        `  ${call.key}: ${FAULTS[kind].says}${happened ? "" : " (planned, and did NOT come to pass)"}`,
    ),
  ];
}

/** The verdict on one run. */
export function verdictLine({ tasks, verdict }: Pick<Report, "tasks" | "verdict">): string {
  const { problems, once, parked } = verdict;
  if (problems.length > 0)
    return `ledger check: FAILED: ${problems.length} of ${tasks.length} tasks or effects broke the promise`;
  const waiting =
    parked.length === 0
      ? ""
      : `, ${parked.length} parked for a person (caught in commit, ${parked.length === 1 ? "its" : "their"} system cannot be read)`;
  return `ledger check: passed: ${once} of ${tasks.length} tasks settled with their effect there exactly once${waiting}`;
}

function taskTable({ tasks }: Report): string[] {
  const rows = tasks.map(({ call, record }) => [
    call.key,
    record?.status ?? "no record",
    String(record?.attempts_total ?? 0),
    record?.attempts
      .filter((attempt) => attempt.how === "expired")
      .map((attempt) => attempt.stage)
      .join(", ") ?? "",
    record === undefined ? "" : receiptText(record) || (record.end_reason ?? ""),
  ]);
  return textTable(["task", "status", "attempts", "expired in", "receipt"], rows, 70);
}

function parkedLines({ tasks, verdict }: Report): string[] {
  return verdict.parked.flatMap(({ call, there }) => {
    const record = tasks.find((task) => task.call === call)?.record;
    return [
      "",
      `parked: ${call.key}: ${record?.end_reason}`,
      `  A person looks into the chat, then decides: client.resume("${record?.task_id}", { decision: "committed", by: "you" }),`,
      `  or "commit-again" when it is not there. (The ledger, which no handler can read, has it ${there === 1 ? "once" : `${there} times`}.)`,
    ];
  });
}

function countsText(counts: Counts): string {
  const kinds = Object.keys(counts).sort();
  return kinds.length === 0 ? "none" : kinds.map((kind) => `${counts[kind]} ${kind}`).join(", ");
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
