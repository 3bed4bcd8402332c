/**
 * The external system, a process of its own: a blog that honours idempotency keys, a tracker whose issues have the names
 * that the caller gives them, and a chat that does neither and cannot be read. It keeps a ledger of what is really there.
 * Started by demo.ts, it says its port to the parent and ends when that one does.
 */
import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import type { HeldAnswer, Ledger, LedgerEntry, SystemFault, SystemFaults } from "./ledger.ts";

/** Longer than the lease of 2 s that the demo has on one provider, shorter than its budget of 3 s. */
const SLOW_MS = 2_500;
const USUAL_MS = 120;

const faults = JSON.parse(process.argv[2] ?? '{"hang":[],"slow":[],"dropAnswer":[],"hold":[]}') as SystemFaults;
const entries: LedgerEntry[] = [];
const happened: Record<SystemFault, number> = { hang: 0, slow: 0, drop_answer: 0 };
const once = new Set<string>();
const held = new Map<number, () => void>();
let writes = 0;

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

function first(what: string): boolean {
  if (once.has(what)) return false;
  once.add(what);
  return true;
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Waits until the demo lets the answer go, if it is one to be held; says so when the caller does not wait for it any more. */
async function hold(on: "read" | "write", subject: string, caller: string, response: ServerResponse): Promise<void> {
  const match = faults.hold.find((each) => each.on === on && each.subjects.includes(subject));
  if (match === undefined) return;
  const id = held.size + 1;
  const sayGone = (): void => void process.send?.({ gone: id });
  response.once("close", sayGone);
  await new Promise<void>((resolve) => {
    held.set(id, resolve);
    process.send?.({ held: { id, name: match.name, subject, caller } satisfies HeldAnswer });
  });
  response.off("close", sayGone);
}

function find(system: LedgerEntry["system"], reference: string): LedgerEntry | undefined {
  return entries.find((entry) => entry.system === system && entry.reference === reference);
}

/** The id comes from the reference, so that it is the same in each run of the same tasks; a second entry of one reference is numbered. */
function add(system: LedgerEntry["system"], reference: string, content: Readonly<Record<string, string>>): LedgerEntry {
  const earlier = entries.filter((entry) => entry.system === system && entry.reference === reference).length;
  const digest = createHash("sha256").update(reference).digest("hex").slice(0, 8);
  const id = `${system}-${digest}${earlier === 0 ? "" : `-${earlier + 1}`}`;
  const entry = { system, reference, id, content };
  entries.push(entry);
  return entry;
}

const postOf = (entry: LedgerEntry) => ({ id: entry.id, status: "published", title: entry.content["title"] });
const issueOf = (entry: LedgerEntry) => ({ name: entry.reference, state: "open", url: `/issues/${entry.reference}` });

async function read(path: string): Promise<Answer | undefined> {
  const [, kind = "", name = ""] = path.split("/").map(decodeURIComponent);
  switch (kind) {
    case "drafts": {
      const draft = `drafts/${name}`;
      if (faults.hang.includes(draft) && first(`hang ${draft}`)) {
        happened.hang += 1;
        return undefined;
      }
      if (faults.slow.includes(draft)) {
        happened.slow += 1;
        await pause(SLOW_MS);
      }
      return { status: 200, body: { html: `<article><p>${name.replaceAll("-", " ")}</p></article>` } };
    }
    case "projects":
      return { status: 200, body: { count: 40 + name.length } };
    case "posts": {
      const post = find("blog", name);
      return post === undefined ? { status: 404, body: {} } : { status: 200, body: postOf(post) };
    }
    case "issues": {
      const issue = find("tracker", name);
      return issue === undefined ? { status: 404, body: {} } : { status: 200, body: issueOf(issue) };
    }
    case "ledger":
      return { status: 200, body: { entries, writes, faults: happened } satisfies Ledger };
    default:
      return { status: 404, body: { error: `nothing at ${path}` } };
  }
}

function write(
  method: string,
  path: string,
  headers: IncomingMessage["headers"],
  content: Readonly<Record<string, string>>,
): Answer {
  const [, kind = "", name = ""] = path.split("/").map(decodeURIComponent);
  writes += 1;
  if (method === "POST" && kind === "posts") {
    const key = String(headers["idempotency-key"]);
    return { status: 200, body: postOf(find("blog", key) ?? add("blog", key, content)) };
  }
  if (method === "PUT" && kind === "issues") {
    if (find("tracker", name) !== undefined)
      return { status: 409, body: { error: `there is an issue ${name} already` } };
    return { status: 201, body: issueOf(add("tracker", name, content)) };
  }
  if (method === "POST" && kind === "messages") {
    return { status: 202, body: { id: add("chat", String(headers["x-reference"]), content).id } };
  }
  return { status: 404, body: { error: `nothing at ${path}` } };
}

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { method = "GET", url = "/" } = request;
  const caller = request.headers["user-agent"] ?? "";
  let answer: Answer | undefined;
  if (method === "GET") {
    if (url !== "/ledger") await pause(USUAL_MS);
    answer = await read(url);
    if (answer === undefined) return;
    await hold("read", decodeURIComponent(url.slice(1)), caller, response);
  } else {
    const content = JSON.parse(await text(request)) as Readonly<Record<string, string>>;
    answer = write(method, url, request.headers, content);
    if (faults.dropAnswer.includes(content["title"] ?? "") && first(`drop ${content["title"]}`)) {
      happened.drop_answer += 1;
      request.socket.destroy();
      return;
    }
    await hold("write", content["title"] ?? content["text"] ?? "", caller, response);
    await pause(USUAL_MS);
  }
  response.writeHead(answer.status, { "content-type": "application/json" }).end(JSON.stringify(answer.body));
}

const server = createServer((request, response) => {
  serve(request, response).catch((error: unknown) => {
    response.writeHead(500).end(String(error));
  });
});
server.listen(0, "127.0.0.1", () => {
  process.send?.({ port: (server.address() as AddressInfo).port });
});
process.on("message", ({ letGo }: { readonly letGo: number }) => held.get(letGo)?.());
process.on("disconnect", () => process.exit(0));
