import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { isLeaseholdError } from "../errors.ts";
import type { Receipt } from "../record/record.ts";
import type { AnyEffect, AnyTask, TaskContext } from "./define.ts";
import { defineEffect } from "./define-effect.ts";
import { defineTask } from "./define-task.ts";
import { resolveTask } from "./resolve.ts";

interface Post {
  readonly id: number;
  readonly status: string;
}
const posts = new Map<string, Post>();
const wp = {
  publish: async (post: { slug: string; html: string }, _options: { signal: AbortSignal }): Promise<{ id: number }> => {
    posts.set(post.slug, { id: posts.size + 1, status: "publish" });
    return { id: posts.size };
  },
  findBySlug: async (slug: string): Promise<Post | undefined> => posts.get(slug),
};
const loadDraft = async (id: string, _options: { signal: AbortSignal }): Promise<string> => id;
const render = async (draft: string, _options: { signal: AbortSignal }): Promise<string> => draft;

const publish = defineEffect({
  name: "publish",
  externalSystem: "wordpress",
  guard: "idempotent",
  commit: ({ idempotencyKey, input, signal }) => wp.publish({ slug: idempotencyKey, html: input.html }, { signal }),
  find: ({ idempotencyKey }) => wp.findBySlug(idempotencyKey),
  verify: (post) => post.status === "publish" && { externalId: String(post.id), status: post.status },
});

const publishPost = defineTask({
  type: "publish_post",
  input: z.object({ draftId: z.string(), title: z.string() }),
  effects: [publish],
  async run(task) {
    const draft = await loadDraft(task.input.draftId, { signal: task.signal });
    await task.renew({ stage: "external_call", reason: "waiting for model batch result", budget: "10m" });
    const html = await render(draft, { signal: task.signal });
    return task.effect(publish, { html });
  },
});

const EFFECT: AnyEffect = {
  name: "send",
  externalSystem: "mail",
  guard: "idempotent",
  commit: () => undefined,
  find: () => undefined,
  verify: () => false,
};
const TASK: AnyTask = { type: "send_mail", input: z.object({ to: z.string() }), run: () => undefined };

/** Defines what types forbid, and answers the error. */
function faultOfTask(changes: Readonly<Record<string, unknown>>): string {
  return faultOf(() => defineTask({ ...TASK, ...changes } as AnyTask));
}

function faultOfEffect(changes: Readonly<Record<string, unknown>>): string {
  return faultOf(() => defineEffect({ ...EFFECT, ...changes } as AnyEffect));
}

function faultOf(call: () => unknown): string {
  try {
    call();
  } catch (error) {
    assert.ok(isLeaseholdError(error, "InvalidArgument"), String(error));
    return error.message;
  }
  return assert.fail("expected an error");
}

test("types: the handler's input is the schema's output, and the effect's receipt its result", () => {
  defineTask({
    type: "typed",
    input: z.object({ when: z.coerce.date(), count: z.number().default(1) }),
    run(task) {
      const input: { when: Date; count: number } = task.input;
      // @ts-expect-error: the schema has no such member
      task.input.missing;
      // @ts-expect-error: a stage that no claim can name
      void (() => task.renew({ stage: "settled" }));
      return input.count;
    },
  });
  const run: (task: TaskContext<{ draftId: string; title: string }>) => Promise<Receipt> | Receipt = publishPost.run;
  assert.equal(typeof run, "function");
});

test("types: what is found is known to verify, and a list is no thing", () => {
  defineEffect({
    ...EFFECT,
    find: () => ({ id: 1, status: "sent" }),
    // @ts-expect-error: the thing has no such member
    verify: (mail) => ({ externalId: mail.missing, status: "" }),
  });
  const base = { name: "send", externalSystem: "mail", guard: "idempotent", commit: () => 1 } as const;
  defineEffect<unknown, Post>({
    ...base,
    find: () => null,
    verify: (post: Post) => ({ externalId: String(post.id), status: "" }),
  });
  // @ts-expect-error: find answers a list
  defineEffect({ ...base, find: () => [{ id: 1 }], verify: () => false });
  // @ts-expect-error: find answers a list, later
  defineEffect({ ...base, find: async (): Promise<readonly Post[] | undefined> => [], verify: () => false });
  // @ts-expect-error: find may answer a list
  defineEffect({ ...base, find: (): Post | Post[] => [], verify: () => false });
  defineEffect({
    ...base,
    find: (): Post | undefined => undefined,
    verify: (post) => ({ externalId: String(post.id), status: "" }),
  });
  // biome-ignore lint/suspicious/noExplicitAny: an untyped client
  defineEffect({ ...base, find: (): any => undefined, verify: (found) => found.ok });
  defineEffect({
    ...base,
    find: (): unknown => undefined,
    verify: (found) => (found === 1 ? { externalId: "1", status: "" } : false),
  });
  defineEffect({
    ...base,
    guard: "none",
    find: null,
    verify: (answer) => ({ externalId: String(answer), status: "sent" }),
  });
});

test("types: an effect's input is checked, declared or inline", () => {
  const typed = defineEffect({
    ...EFFECT,
    commit: ({ input }: { readonly input: { readonly html: string } }) => input.html,
  });
  defineTask({
    ...TASK,
    async run(task) {
      await task.effect(typed, { html: "" });
      // @ts-expect-error: html is text
      await task.effect(typed, { html: 1 });
      return task.effect(
        {
          ...EFFECT,
          commit: ({ input }) => input.body.length,
          find: () => 1,
          verify: (found) => ({ externalId: found.toFixed(), status: "" }),
        },
        { body: "" },
      );
    },
  });
});

test("a definition is frozen, and the caller's object left alone", () => {
  const given = { ...TASK, effects: [EFFECT] };
  const task = defineTask(given);
  assert.ok(Object.isFrozen(task) && Object.isFrozen(publish) && !Object.isFrozen(given));
  assert.equal(task.effects?.[0], EFFECT);
});

test("defaults of a task", () => {
  const { definition, effects, ...numbers } = resolveTask(TASK);
  assert.equal(definition, TASK);
  assert.equal(effects.size, 0);
  assert.deepEqual(numbers, {
    type: "send_mail",
    leaseMs: { preflight: 60_000, external_call: 60_000, commit: 60_000, verify: 60_000 },
    budgetMs: { preflight: 120_000, external_call: 600_000, commit: 120_000, verify: 300_000 },
    attempts: 5,
    backoffBaseMs: 5_000,
    backoffCapMs: 600_000,
    maxRunMs: 86_400_000,
    retry: { preflight: "retry", external_call: "retry" },
    settledBy: undefined,
    receiptFrom: undefined,
  });
});

test("every option is heard", () => {
  const resolved = resolveTask({
    ...TASK,
    effects: [EFFECT, publish],
    settledBy: "publish",
    attempts: 1,
    backoff: { base: "20m" },
    lease: "2m",
    maxRun: "1h",
    stages: { commit: { lease: "10s" }, verify: { budget: 1_500 } },
    retry: { external_call: "park" },
  });
  assert.deepEqual(resolved.leaseMs, { preflight: 120_000, external_call: 120_000, commit: 10_000, verify: 120_000 });
  assert.equal(resolved.budgetMs.verify, 1_500);
  assert.equal(resolved.attempts, 1);
  assert.equal(resolved.maxRunMs, 3_600_000);
  assert.deepEqual([resolved.backoffBaseMs, resolved.backoffCapMs], [1_200_000, 1_200_000]);
  assert.deepEqual(resolved.retry, { preflight: "retry", external_call: "park" });
  assert.equal(resolved.effects.get("publish"), publish);
  assert.equal(resolved.receiptFrom, "publish");
});

test("a wrong task is refused by field, kind, expectation and what to do", () => {
  assert.match(
    faultOf(() => defineTask(undefined as unknown as AnyTask)),
    /^task: got nothing, expected a task/,
  );
  for (const type of ["", "a b", "x".repeat(65), "ä", 7, undefined])
    assert.match(faultOfTask({ type }), /^task\.type: got .+, expected 1 to 64 of/);
  assert.match(
    faultOfTask({ input: { to: "string" } }),
    /^task "send_mail"\.input: got an object, expected a zod schema/,
  );
  assert.match(faultOfTask({ run: undefined }), /^task "send_mail"\.run: got nothing, expected the handler/);
  assert.match(faultOfTask({ effects: EFFECT }), /\.effects: got an object, expected a list/);
  assert.match(
    faultOfTask({ effects: [EFFECT, { ...EFFECT }] }),
    /\.effects\[1\]\.name: got "send" a second time, expected names that are unique.+rename/,
  );
  assert.match(faultOfTask({ effects: [undefined] }), /\.effects\[0\]: got nothing, expected an effect/);
  assert.match(
    faultOfTask({ settledBy: "send" }),
    /\.settledBy: got "send", expected the name of a declared effect \(there is none: list it/,
  );
  assert.match(
    faultOfTask({ effects: [EFFECT], receiptFrom: "sent" }),
    /\.receiptFrom: got "sent", expected the name of a declared effect \("send"\)/,
  );
  assert.match(
    faultOfTask({ effects: [EFFECT, publish], settledBy: "send", receiptFrom: "publish" }),
    /\.receiptFrom: got "publish", expected "send"/,
  );
  for (const attempts of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, "5", null]) {
    assert.match(faultOfTask({ attempts }), /\.attempts: got .+, expected a whole number from 1 up/);
  }
  for (const lease of [999, "0.5s", 0, "4000d"])
    assert.match(faultOfTask({ lease }), /\.lease: got \d+ ms, expected 1000 ms to/);
  for (const lease of [-1, Number.NaN, "soon", null, {}]) {
    if (lease === null) continue;
    assert.match(faultOfTask({ lease }), /\.lease: expected a duration/);
  }
  assert.match(faultOfTask({ stages: { commit: { lease: 1 } } }), /\.stages\.commit\.lease: got 1 ms/);
  assert.match(faultOfTask({ stages: { verify: { budget: 0 } } }), /\.stages\.verify\.budget: got 0 ms/);
  assert.match(
    faultOfTask({ stages: { settled: {} } }),
    /\.stages: got the field "settled", expected only preflight, external_call, commit, verify/,
  );
  assert.match(
    faultOfTask({ stages: { commit: { leaseMs: 5_000 } } }),
    /\.stages\.commit: got the field "leaseMs", expected only lease, budget/,
  );
  assert.match(
    faultOfTask({ backoff: { base: "11m", cap: "10m" } }),
    /\.backoff\.cap: got 600000 ms, expected at least the base/,
  );
  assert.match(faultOfTask({ backoff: 5 }), /\.backoff: got a number, expected an object/);
  assert.match(
    faultOfTask({ retry: { commit: "retry" } }),
    /\.retry: got the field "commit", expected only preflight, external_call/,
  );
  assert.match(faultOfTask({ retry: { preflight: "never" } }), /\.retry\.preflight: got text, expected "retry"/);
  assert.match(faultOfTask({ maxRun: 0 }), /\.maxRun: got 0 ms/);
});

test("a wrong effect is refused by field, kind, expectation and what to do", () => {
  assert.match(
    faultOf(() => defineEffect(7 as unknown as AnyEffect)),
    /^effect: got a number, expected an effect/,
  );
  for (const name of ["", "a:b", "a.b", "x".repeat(65), undefined])
    assert.match(faultOfEffect({ name }), /^effect\.name: got .+, expected 1 to 64 of/);
  for (const externalSystem of ["", undefined, 5])
    assert.match(faultOfEffect({ externalSystem }), /^effect "send"\.externalSystem: got /);
  for (const guard of ["idempotency", undefined, {}, { kind: "none" }])
    assert.match(faultOfEffect({ guard }), /^effect "send"\.guard: got .+, expected "idempotent"/);
  for (const windowMs of [0, undefined, "1h"])
    assert.match(faultOfEffect({ guard: { kind: "idempotent", windowMs } }), /\.guard\.windowMs: got /);
  assert.match(
    faultOfEffect({ guard: { kind: "idempotent", windowMs: Number.NaN } }),
    /\.guard\.windowMs: expected a duration/,
  );
  assert.match(faultOfEffect({ commit: undefined }), /\.commit: got nothing, expected a function/);
  assert.match(faultOfEffect({ verify: null }), /\.verify: got null, expected a function/);
  assert.match(faultOfEffect({ externalId: "id" }), /\.externalId: got text, expected a function/);
  for (const guard of ["idempotent", "deterministic-id", { kind: "idempotent", windowMs: 1 }]) {
    assert.match(faultOfEffect({ guard, find: null }), /\.find: got null, expected a function.+guard "none" only/);
  }
  for (const guard of ["idempotent", "none"])
    assert.match(faultOfEffect({ guard, find: undefined }), /\.find: got nothing, expected a function/);
  assert.match(faultOfEffect({ scope: "global" }), /\.key: got nothing, expected a function.+scope "global" needs/);
  assert.match(faultOfEffect({ key: () => "k" }), /\.key: got a function, expected nothing.+set scope/);
  assert.match(faultOfEffect({ scope: "shared" }), /\.scope: got text, expected "task"/);
  defineEffect({ ...EFFECT, guard: "none", find: null });
  defineEffect({ ...EFFECT, guard: { kind: "idempotent", windowMs: 86_400_000 }, scope: "global", key: () => "k" });
});
