import { join } from "node:path";
import { findProgram } from "../peers/server-process.ts";
import { cacheFolder, lastLine, type Missing, once, referenceFolder, runTool } from "./tools.ts";

export interface GoProgram {
  readonly missing?: never;
  readonly program: string;
}

/** Builds a module of `test/reference` with the Go that is installed; Go keeps what it built, so that a second time is short. */
export function goProgram(module: string): Promise<GoProgram | Missing> {
  return once(`go ${module}`, async () => {
    const go = findProgram(process.platform === "win32" ? "go.exe" : "go");
    if (go === undefined) return { missing: "there is no Go" };
    const program = join(cacheFolder(), process.platform === "win32" ? `${module}.exe` : module);
    const folder = join(referenceFolder, module);
    // Another Go than the installed one is not fetched.
    const environment = { GOTOOLCHAIN: "local", GOFLAGS: "-mod=readonly" };
    const built = await runTool(go, ["build", "-o", program, "."], { folder, environment });
    return built.ok ? { program } : { missing: `${module} could not be built: ${lastLine(built.output)}` };
  });
}
