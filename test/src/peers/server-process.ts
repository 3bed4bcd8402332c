import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { accessSync, constants } from "node:fs";
import { connect, createServer } from "node:net";
import { delimiter, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { spawnTied } from "./tied-process.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/** A server in a process of its own. */
export interface ServerProcess {
  /** `127.0.0.1:<port>` */
  readonly endpoint: string;
  /** Ends it. Harmless when repeated. */
  stop(): Promise<void>;
}

export interface ServerCommand {
  readonly program: string;
  /** Given the free port of 127.0.0.1 on which it has to listen. */
  readonly parameters: (port: number) => readonly string[];
  /** Default: that of this process. */
  readonly environment?: (port: number) => Environment;
  /** For errors. Default: the program. */
  readonly name?: string;
}

/** Between two looks at whether it listens, ms. */
const LOOK_MS = 50;
/** Of what a server says, so much of the end is kept for errors: it may talk for as long as it runs. */
const KEPT_CHARACTERS = 8_192;

/**
 * Starts a server on a free port and waits until it listens. It ends with `stop`, and when this process ends, in whatever way.
 * Throws when it ends before it listens.
 */
export async function startServer(command: ServerCommand): Promise<ServerProcess> {
  const { program, parameters, environment, name = program } = command;
  const port = await freePort();
  const child = spawnTied(program, parameters(port), environment?.(port));
  const ended = once(child, "exit");
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    said = (said + text).slice(-KEPT_CHARACTERS);
  });
  while (!(await listens(port))) {
    if (hasEnded(child)) throw new Error(`${name} ended before it listened on port ${port}:\n${said}`);
    await sleep(LOOK_MS);
  }
  return {
    endpoint: `127.0.0.1:${port}`,
    async stop() {
      child.stdin.end();
      await ended;
    },
  };
}

/** The first program of this name on the PATH. */
export function findProgram(name: string, { PATH = "" }: Environment = process.env): string | undefined {
  return PATH.split(delimiter)
    .map((folder) => join(folder, name))
    .find((path) => canRead(path, constants.X_OK));
}

export function canRead(path: string, mode: number = constants.R_OK): boolean {
  try {
    accessSync(path, mode);
    return true;
  } catch {
    return false;
  }
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") throw new Error("a TCP server has no port");
  return address.port;
}

async function listens(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  const reached = await new Promise<boolean>((resolve) => {
    socket.on("connect", () => resolve(true)).on("error", () => resolve(false));
  });
  socket.destroy();
  return reached;
}
