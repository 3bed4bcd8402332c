import { createHash } from "node:crypto";
import { existsSync, globSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { findProgram } from "../peers/server-process.ts";
import { cacheFolder, lastLine, type Missing, once, referenceFolder, runTool } from "./tools.ts";

export interface Packages {
  /** A file in `test/reference` with every package that is installed, each with its version. */
  readonly requirements: string;
  /** The oldest Python 3 that they run on: 12 is 3.12. */
  readonly atLeast: number;
}

export interface Virtualenv {
  readonly missing?: never;
  readonly python: string;
}

/** Written when everything is installed: a run that was ended half way leaves none. */
const READY = "leasehold-ready";
/** In the order in which they are tried. */
const NEWEST = 15;

/** A virtualenv with these packages and nothing else; made when it is not there, and kept for the next run. */
export function virtualenv(packages: Packages): Promise<Virtualenv | Missing> {
  return once(packages.requirements, () => prepare(packages));
}

async function prepare({ requirements, atLeast }: Packages): Promise<Virtualenv | Missing> {
  const file = join(referenceFolder, requirements);
  const base = await findPython(atLeast);
  if (base === undefined) return { missing: `there is no Python 3.${atLeast} or later` };
  const key = createHash("sha256").update(base.version).update(readFileSync(file)).digest("hex").slice(0, 12);
  const folder = join(cacheFolder(), `${requirements.replaceAll(/\W+/g, "-")}-${key}`);
  const python = join(folder, process.platform === "win32" ? "Scripts/python.exe" : "bin/python");
  if (existsSync(join(folder, READY))) return { python };
  rmSync(folder, { recursive: true, force: true });
  const made = await runTool(base.program, ["-m", "venv", folder]);
  if (!made.ok) return { missing: `no virtualenv could be made: ${lastLine(made.output)}` };
  const pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input", "--no-deps"];
  const installed = await runTool(python, [...pip, "--only-binary=:all:", "--requirement", file]);
  if (!installed.ok) return { missing: `${requirements} could not be installed: ${lastLine(installed.output)}` };
  writeFileSync(join(folder, READY), "");
  return { python };
}

async function findPython(
  atLeast: number,
): Promise<{ readonly program: string; readonly version: string } | undefined> {
  const named = Array.from({ length: NEWEST - atLeast + 1 }, (_, index) => `python3.${NEWEST - index}`);
  const onPath = ["python3", ...named, "python"].flatMap((name) => findProgram(name) ?? []);
  const pyenv = join(process.env["PYENV_ROOT"] ?? join(homedir(), ".pyenv"), "versions");
  const beside = globSync("3.*/bin/python3", { cwd: pyenv }).map((path) => join(pyenv, path));
  for (const program of [...onPath, ...beside.toSorted()]) {
    const { ok, output } = await runTool(program, ["--version"]);
    const version = /^Python 3\.(\d+)\.\S+/.exec(output);
    if (ok && version !== null && Number(version[1]) >= atLeast) return { program, version: version[0] };
  }
  return undefined;
}
