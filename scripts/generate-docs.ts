/**
 * Makes the generated parts of the pages anew. With `--check` it writes nothing, names the pages that differ, and exits
 * with 1 when there are any.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { divergenceSections } from "./divergence-sections.ts";
import { fillSections, type Sections } from "./generated-sections.ts";
import { providerSections } from "./provider-sections.ts";
import { telemetrySections } from "./telemetry-sections.ts";
import { root } from "./workspace.ts";

const pages: Readonly<Record<string, Sections>> = {
  "docs/divergence.md": divergenceSections,
  "docs/providers.md": providerSections,
  "docs/telemetry.md": telemetrySections,
};

const parameters = process.argv.slice(2);
const unknown = parameters.filter((parameter) => parameter !== "--check");
if (unknown.length > 0) {
  console.error(`No such parameter: ${unknown.join(", ")}. There is: --check`);
  process.exit(2);
}
const checking = parameters.includes("--check");

for (const [page, sections] of Object.entries(pages)) {
  try {
    const before = readFileSync(join(root, page), "utf8");
    const filled = fillSections(before, sections);
    if (filled === before) continue;
    if (checking) {
      console.error(`${page}: its generated parts differ from the code: run node scripts/generate-docs.ts`);
      process.exitCode = 1;
    } else {
      writeFileSync(join(root, page), filled);
      console.log(`${page}: made anew`);
    }
  } catch (error) {
    console.error(`${page}: ${error instanceof Error ? error.message : String(error)}`);
    process.exitCode = 1;
  }
}
