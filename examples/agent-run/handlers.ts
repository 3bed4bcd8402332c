import { defineEffect, defineTask } from "@leasehold/core";
import { z } from "zod";
import type { ExternalSystem } from "./external-system.ts";

/**
 * The handlers of the agent's three tools. Nothing here knows which queue or store it runs on: this file is the same on every
 * provider. What differs between the tools is how their system can be protected from a second write.
 */

const line = z.string().trim().min(1, "expected at least one character").max(300, "expected at most 300 characters");

/** What each tool takes. The model writes these, so they are checked before anything is enqueued. */
export const inputs = {
  publish_post: z.strictObject({ draft: line, title: line }),
  open_issue: z.strictObject({
    project: z.string().regex(/^[a-z0-9-]+$/, "expected lower-case letters, digits and -"),
    title: line,
    body: line,
  }),
  send_message: z.strictObject({
    channel: z.string().regex(/^#[a-z0-9-]+$/, "expected a channel such as #releases"),
    text: line,
  }),
};

/** Short, so that a demo shows in seconds what a service would show in minutes. The defaults are 60 s and 2 to 10 minutes. */
const paceOf = (leaseMs: number) =>
  ({
    lease: leaseMs,
    // A busy machine stalls for longer than such a lease now and then, which costs an attempt as a crash does. The default is 5.
    attempts: 20,
    backoff: { base: "200ms", cap: "1s" },
    stages: { external_call: { budget: 1.5 * leaseMs } },
  }) as const;

export function createTasks(system: ExternalSystem, leaseMs = 2_000) {
  const pace = paceOf(leaseMs);

  /** The blog honours an idempotency key: the same key again answers with the post that is there. */
  const publish = defineEffect({
    name: "publish",
    externalSystem: "blog",
    guard: "idempotent",
    commit: ({ idempotencyKey, input, signal }) => system.publishPost(idempotencyKey, input, signal),
    find: ({ idempotencyKey, signal }) => system.findPost(idempotencyKey, signal),
    verify: (post) => post.status === "published" && { externalId: post.id, status: post.status },
  });

  /** The tracker refuses a second issue of one name, so the name is made from the key. */
  const open = defineEffect({
    name: "open",
    externalSystem: "tracker",
    guard: "deterministic-id",
    commit: ({ idempotencyKey, input, signal }) => system.createIssue(issueName(idempotencyKey), input, signal),
    find: ({ idempotencyKey, signal }) => system.findIssue(issueName(idempotencyKey), signal),
    verify: (issue) => ({ externalId: issue.name, status: issue.state, details: { url: issue.url } }),
  });

  /** The chat takes every message as a new one and cannot be searched: its answer is all the proof there is. */
  const send = defineEffect({
    name: "send",
    externalSystem: "chat",
    guard: "none",
    commit: ({ idempotencyKey, input, signal }) => system.sendMessage(idempotencyKey, input, signal),
    find: null,
    verify: (answer: { id: string }) => ({ externalId: answer.id, status: "accepted" }),
  });

  const publishPost = defineTask({
    type: "publish_post",
    input: inputs.publish_post,
    effects: [publish],
    ...pace,
    async run(task) {
      const { draft, title } = task.input;
      await task.renew({ stage: "external_call", reason: `fetching ${draft} from the editor` });
      const html = await system.renderDraft(draft, task.signal);
      await task.renew({ stage: "external_call", reason: `rendered ${draft}: ${html.length} characters to publish` });
      const receipt = await task.effect(publish, { title, html });
      return { post: receipt.external_id };
    },
  });

  const openIssue = defineTask({
    type: "open_issue",
    input: inputs.open_issue,
    effects: [open],
    // Nothing follows the effect: a retry that finds the issue is done, and runs nothing again.
    settledBy: "open",
    ...pace,
    async run(task) {
      const { project } = task.input;
      await task.renew({ stage: "external_call", reason: `counting the open issues of ${project}` });
      const count = await system.countIssues(project, task.signal);
      await task.renew({ stage: "external_call", progress: { done: count, total: count, unit: "issues compared" } });
      return task.effect(open, task.input);
    },
  });

  const sendMessage = defineTask({
    type: "send_message",
    input: inputs.send_message,
    effects: [send],
    ...pace,
    async run(task) {
      const receipt = await task.effect(send, task.input);
      return { message: receipt.external_id };
    },
  });

  return [publishPost, openIssue, sendMessage] as const;
}

function issueName(idempotencyKey: string): string {
  return idempotencyKey.replaceAll(":", "-");
}
