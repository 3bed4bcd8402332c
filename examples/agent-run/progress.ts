import type { TaskRecord } from "@leasehold/core";
import { parseTime } from "@leasehold/core/driver";
import { textTable } from "./text-table.ts";

/** Where the run is. */
export interface Snapshot {
  /** By key, in the order of the file; `undefined`: not enqueued yet. */
  readonly tasks: readonly { readonly key: string; readonly record: TaskRecord | undefined }[];
  /** Wall time, ms. */
  readonly now: number;
  /** Since the run began, ms. */
  readonly elapsedMs: number;
}

export interface Progress {
  show(snapshot: Snapshot): void;
}

export interface Screen {
  write(text: string): unknown;
  /** Absent where the output is no terminal. */
  readonly rows?: number;
  readonly columns?: number;
}

const HEAD = ["task", "stage", "last claim", "owner", "lease left"];
const STATUS_ORDER: Readonly<Record<string, number>> = { leased: 0, released: 1, queued: 2, parked: 3 };

/** A line for each change, for logs. */
export function createPlainProgress(screen: Screen): Progress {
  const shown = new Map<string, string>();
  return {
    show({ tasks, now, elapsedMs }) {
      for (const { key, record } of tasks) {
        if (record === undefined) continue;
        const [, stage = "", claim = "", owner = "", left = ""] = cellsOf(key, record, now);
        const change = `${stage} ${claim} ${owner} ${record.fence}`;
        if (shown.get(key) === change) continue;
        shown.set(key, change);
        const details = [stage, owner, left && `lease left ${left}`, claim].filter((each) => each !== "");
        screen.write(`${seconds(elapsedMs).padStart(6)}  ${key.padEnd(26)}  ${details.join(" · ")}\n`);
      }
    },
  };
}

/** All tasks in a table that is drawn over itself. When the terminal is too low, those that are worked on come first. */
export function createLiveProgress(screen: Screen): Progress {
  let drawn = 0;
  return {
    show({ tasks, now, elapsedMs }) {
      const room = Math.max((screen.rows ?? 40) - 4, 5);
      const width = Math.max((screen.columns ?? 120) - 1, 40);
      const order = (record: TaskRecord | undefined): number => STATUS_ORDER[record?.status ?? "settled"] ?? 4;
      const chosen =
        tasks.length <= room
          ? tasks
          : [...tasks].sort((left, right) => order(left.record) - order(right.record)).slice(0, room);
      const rows = chosen.map(({ key, record }) =>
        record === undefined ? [key, "to come", "", "", ""] : cellsOf(key, record, now),
      );
      const ended = tasks.filter(({ record }) => record?.status === "settled" || record?.status === "parked").length;
      const lines = [...textTable(HEAD, rows, 56), `${seconds(elapsedMs)}: ${ended} of ${tasks.length} ended`];
      const up = drawn > 0 ? `\x1b[${drawn}A` : "";
      screen.write(`${up}${lines.map((line) => `${line.slice(0, width)}\x1b[K`).join("\n")}\n\x1b[J`);
      drawn = lines.length;
    },
  };
}

function cellsOf(key: string, record: TaskRecord, now: number): readonly string[] {
  const claim = record.last_claims.at(-1)?.reason ?? "";
  switch (record.status) {
    case "leased": {
      const leftMs = record.lease_expires_at === undefined ? 0 : parseTime(record.lease_expires_at) - now;
      return [key, record.stage, claim, ownerName(record), leftMs > 0 ? seconds(leftMs) : "lapsed"];
    }
    case "queued":
    case "released":
      return [key, `${record.stage}, ${record.status}`, record.last_error ?? claim, "", ""];
    case "settled":
      return [key, "settled", receiptText(record), "", ""];
    default:
      return [key, record.status, record.end_reason ?? "", "", ""];
  }
}

/** `worker-2@host/abc` -> `worker-2`. */
export function ownerName(record: TaskRecord): string {
  return record.lease_owner?.split("@")[0] ?? "";
}

export function receiptText(record: TaskRecord): string {
  const receipt = record.settlement_receipt;
  return receipt === undefined
    ? ""
    : `${receipt.external_system} ${receipt.external_id}${receipt.verified_by === undefined ? "" : ` (by its ${receipt.verified_by})`}`;
}

export function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}
