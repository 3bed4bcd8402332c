import { GUARDS } from "../record/record.ts";
import { durationMs } from "../util/duration.ts";
import { checkOptionNames, refusal } from "../util/issues.ts";
import type { EffectDefinition } from "./define.ts";

type IsAny<T> = 0 extends 1 & T ? true : false;

/** Nothing, unless `find` may return a list: then a field that cannot be given, whose name is the error. */
export type FindsOneThing<T> =
  IsAny<T> extends true
    ? unknown
    : [Extract<T, readonly unknown[]>] extends [never]
      ? unknown
      : { readonly "find must return one thing, or undefined: pick one out of the list": never };

/** Every field, so that a misspelt one is refused instead of ignored. */
const FIELDS: Readonly<Record<keyof EffectDefinition, true>> = {
  name: true,
  externalSystem: true,
  guard: true,
  scope: true,
  key: true,
  commit: true,
  externalId: true,
  find: true,
  verify: true,
};

/** What effect names are made of. */
export const EFFECT_NAME = /^[A-Za-z0-9_-]{1,64}$/;

/**
 * Describes one external side effect: `commit` makes it, `find` reads it back, `verify` judges what was found. Put `find` before
 * `verify`, so that the type of what is found is known to it; the type of `input` is written on the parameter of `commit`, when wanted.
 * Throws `InvalidArgument` naming the field that is wrong.
 */
// biome-ignore lint/suspicious/noExplicitAny: an input that nobody typed is any JSON value
export function defineEffect<I = any, T = unknown, A = unknown>(
  definition: EffectDefinition<I, T, A> & FindsOneThing<T>,
): EffectDefinition<I, T, A> {
  checkEffect(definition, "effect");
  const plain: EffectDefinition<I, T, A> = definition;
  return Object.freeze({ ...plain });
}

/** Throws `InvalidArgument` for a definition that cannot work. `path` names it in the error. Inline effects come here too. */
export function checkEffect(definition: unknown, path: string): void {
  if (typeof definition !== "object" || definition === null) {
    throw refusal(path, definition, "an effect, as defineEffect makes it");
  }
  checkOptionNames(definition, FIELDS, path);
  const effect = definition as Partial<Record<keyof EffectDefinition, unknown>>;
  if (typeof effect.name !== "string" || !EFFECT_NAME.test(effect.name)) {
    throw refusal(`${path}.name`, effect.name, "1 to 64 of A-Z a-z 0-9 _ -; it becomes part of the effect's key");
  }
  const at = `${path} "${effect.name}"`;
  checkText(effect.externalSystem, `${at}.externalSystem`);
  checkGuard(effect.guard, `${at}.guard`);
  if (typeof effect.commit !== "function") {
    throw refusal(`${at}.commit`, effect.commit, "a function that makes the effect");
  }
  if (typeof effect.verify !== "function") {
    throw refusal(`${at}.verify`, effect.verify, "a function that answers { externalId, status }, or false");
  }
  if (effect.externalId !== undefined && typeof effect.externalId !== "function") {
    throw refusal(
      `${at}.externalId`,
      effect.externalId,
      "a function from the answer of commit to the external id, or nothing",
    );
  }
  checkFind(effect.find, effect.guard, `${at}.find`);
  checkScope(effect.scope, effect.key, at);
}

function checkText(value: unknown, path: string): void {
  if (typeof value !== "string" || value === "" || value.length > 128) {
    throw refusal(path, value, 'a text of 1 to 128 characters that names the system, such as "wordpress"');
  }
}

function checkGuard(guard: unknown, path: string): void {
  if (typeof guard === "string" && (GUARDS as readonly string[]).includes(guard)) return;
  if (typeof guard === "object" && guard !== null && (guard as { kind?: unknown }).kind === "idempotent") {
    const windowMs = (guard as { windowMs?: unknown }).windowMs;
    if (typeof windowMs === "number" && durationMs(windowMs, `${path}.windowMs`) > 0) return;
    throw refusal(`${path}.windowMs`, windowMs, "how long the system honours a key, in milliseconds above 0");
  }
  throw refusal(
    path,
    guard,
    '"idempotent" (the system honours the key), { kind: "idempotent", windowMs }, "deterministic-id" (a second commit hits the same name) or "none"',
  );
}

function checkFind(find: unknown, guard: unknown, path: string): void {
  if (typeof find === "function") return;
  if (find === null && guard === "none") return;
  if (find === null) {
    throw refusal(
      path,
      find,
      'a function that reads the effect back; null (a system that cannot be read) goes with guard "none" only',
    );
  }
  throw refusal(path, find, 'a function that reads the effect back, or null with guard "none"');
}

function checkScope(scope: unknown, key: unknown, at: string): void {
  if (scope !== undefined && scope !== "task" && scope !== "global") {
    throw refusal(`${at}.scope`, scope, '"task" (the default) or "global"');
  }
  if (scope === "global" && typeof key !== "function") {
    throw refusal(`${at}.key`, key, 'a function from the input to the shared key, which scope "global" needs');
  }
  if (scope !== "global" && key !== undefined) {
    throw refusal(
      `${at}.key`,
      key,
      'nothing, because the key belongs to the task; set scope to "global" to share it across tasks',
    );
  }
}
