import { NotCommittedError, PermanentError } from "@leasehold/core";

export interface Post {
  readonly id: string;
  readonly status: string;
}
export interface Issue {
  readonly name: string;
  readonly state: string;
  readonly url: string;
}

/** The tools' systems, as their clients see them. */
export interface ExternalSystem {
  /** Throws `PermanentError` when there is no such draft. */
  renderDraft(draft: string, signal: AbortSignal): Promise<string>;
  countIssues(project: string, signal: AbortSignal): Promise<number>;
  publishPost(key: string, post: { readonly title: string; readonly html: string }, signal: AbortSignal): Promise<Post>;
  findPost(key: string, signal: AbortSignal): Promise<Post | undefined>;
  createIssue(
    name: string,
    issue: { readonly project: string; readonly title: string; readonly body: string },
    signal: AbortSignal,
  ): Promise<Issue>;
  findIssue(name: string, signal: AbortSignal): Promise<Issue | undefined>;
  /** `reference` is for the other side's own log; it protects from nothing. */
  sendMessage(
    reference: string,
    message: { readonly channel: string; readonly text: string },
    signal: AbortSignal,
  ): Promise<{ readonly id: string }>;
}

/** `caller`: who it is, for the other side's log. */
export function createExternalSystem(baseUrl: string, caller: string): ExternalSystem {
  async function call(
    method: string,
    path: string,
    signal: AbortSignal,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ) {
    const json = body === undefined ? {} : { body: JSON.stringify(body) };
    return fetch(new URL(path, baseUrl), {
      method,
      signal,
      headers: { "content-type": "application/json", "user-agent": caller, ...headers },
      ...json,
    });
  }

  async function read<T>(path: string, signal: AbortSignal): Promise<T | undefined> {
    const response = await call("GET", path, signal);
    if (response.status === 404) return undefined;
    return answerOf<T>(response, path);
  }

  async function write<T>(
    method: string,
    path: string,
    signal: AbortSignal,
    body: unknown,
    headers?: Readonly<Record<string, string>>,
  ): Promise<T> {
    let response: Response;
    try {
      response = await call(method, path, signal, body, headers);
    } catch (error) {
      // No connection, so nothing was sent. After any other failure nobody knows, and the error is left as it is.
      if (codeOf(error) === "ECONNREFUSED") throw new NotCommittedError(`${path}: nobody listens`, { cause: error });
      throw error;
    }
    return answerOf<T>(response, path);
  }

  return {
    async renderDraft(draft, signal) {
      const found = await read<{ readonly html: string }>(`/${draft}`, signal);
      if (found === undefined) throw new PermanentError(`the editor has no ${draft}`);
      return found.html;
    },
    async countIssues(project, signal) {
      return (await read<{ readonly count: number }>(`/projects/${project}/count`, signal))?.count ?? 0;
    },
    publishPost: (key, post, signal) => write("POST", "/posts", signal, post, { "idempotency-key": key }),
    findPost: (key, signal) => read(`/posts/${encodeURIComponent(key)}`, signal),
    createIssue: (name, issue, signal) => write("PUT", `/issues/${encodeURIComponent(name)}`, signal, issue),
    findIssue: (name, signal) => read(`/issues/${encodeURIComponent(name)}`, signal),
    sendMessage: (reference, message, signal) =>
      write("POST", "/messages", signal, message, { "x-reference": reference }),
  };
}

async function answerOf<T>(response: Response, path: string): Promise<T> {
  if (response.ok) return (await response.json()) as T;
  throw new Error(`${path} answered ${response.status}: ${(await response.text()).slice(0, 200)}`);
}

function codeOf(error: unknown): unknown {
  return ((error as { readonly cause?: unknown } | undefined)?.cause as { readonly code?: unknown } | undefined)?.code;
}
