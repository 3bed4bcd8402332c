/**
 * `node test/src/cli/bench.ts [--quick] [--hold MINUTES]`: the figures of the design that need no cloud, as measured on this machine. A bench
 * fails nothing: time budgets are for people to read. `--hold` measures the live leases alone, over that many minutes.
 */
import { parseArgs } from "node:util";
import { coreOverhead } from "../bench/core-overhead.ts";
import { liveLeases } from "../bench/live-leases.ts";
import { lostLease } from "../bench/lost-lease.ts";
import type { BenchRow } from "../bench/row.ts";

const { values } = parseArgs({ options: { quick: { type: "boolean" }, hold: { type: "string" } } });
const { quick = false } = values;
const rows: BenchRow[] = [];
if (values.hold === undefined) {
  await coreOverhead(5_000); // Warms up; not printed.
  for (const backlog of quick ? [20_000] : [20_000, 100_000]) rows.push(...(await coreOverhead(backlog)));
  rows.push(...(await lostLease(2_000)));
}
const holdMs = values.hold === undefined ? (quick ? 10_000 : 30_000) : Number(values.hold) * 60_000;
rows.push(...(await liveLeases(quick ? 2_000 : 10_000, 10_000, holdMs)));

const width = Math.max(...rows.map((row) => row.name.length));
for (const row of rows) {
  const value = row.value >= 100 ? row.value.toFixed(0) : row.value.toFixed(1);
  console.log(
    `${row.name.padEnd(width)}  ${value.padStart(8)} ${row.unit}${row.goal === undefined ? "" : `  (goal ${row.goal})`}`,
  );
}
