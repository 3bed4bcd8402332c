import { formatTime } from "../clock.ts";
import { effectKey } from "../envelope/ids.ts";
import { LeaseholdError, ParkError, verdictOf } from "../errors.ts";
import type { EffectState, Receipt } from "../record/record.ts";
import type { AnyEffect, EffectDefinition } from "../task/define.ts";
import { checkEffect } from "../task/define-effect.ts";
import { canonicalJson } from "../util/json.ts";
import type { Attempt } from "./attempt.ts";
import { type EffectStep, performEffect, resolveOpen } from "./effect-step.ts";
import { guardOf, inherit, recordReceipt } from "./effect-writes.ts";
import { effectNameOf } from "./receipt.ts";
import { takeSharedKey, WaitForKeyError } from "./shared-key.ts";

/** How one open effect of the record came out. */
export type OpenOutcome =
  | { readonly slot: string; readonly is: "verified"; readonly receipt: Receipt; readonly error?: undefined }
  /** Read back and not there, and the guard allows another commit. */
  | { readonly slot: string; readonly is: "absent"; readonly error?: undefined }
  /** Not readable now: `error` is a RetryableError, or a ParkError for one that a person must decide. */
  | { readonly slot: string; readonly is: "unsure" | "park"; readonly error: unknown };

/** The effects of one attempt. */
export interface Effects {
  /** `task.effect`. */
  run(definition: EffectDefinition, input: unknown, item: string | undefined): Promise<Receipt>;
  /** Waits until no effect is under way. */
  idle(): Promise<void>;
  /** The handler has ended: what floating code asks for from here on is refused. */
  close(): void;
  /** Effects are under way. */
  readonly busy: boolean;
  /**
   * Reads back what is open in the record. `before_run`: declared effects only, inline ones wait for the handler. `at_end`: all;
   * one that this worker does not know how to read comes out as `park`.
   */
  resolveOpen(when: "before_run" | "at_end"): Promise<readonly OpenOutcome[]>;
  /** Monotonic time of the last commit's answer. */
  readonly committedMonotonic: number | undefined;
  /** An effect of this attempt had to wait for another task's shared key. */
  readonly waitedForKey: boolean;
}

interface Call {
  readonly inputText: string;
  readonly promise: Promise<Receipt>;
  /** Nothing was sent: the next call with this slot begins again. */
  failed: boolean;
}

export function createEffects(attempt: Attempt): Effects {
  const { lease, task, runtime } = attempt;
  const calls = new Map<string, Call>();
  const underWay = new Set<Promise<unknown>>();
  /** Definitions met in this attempt besides the declared ones. */
  const inline = new Map<string, AnyEffect>();
  const knownAbsent = new Set<string>();
  let committedMonotonic: number | undefined;
  let waitedForKey = false;
  let closed = false;

  const stepOf = (effect: AnyEffect, slot: string, key: string, input?: { readonly value: unknown }): EffectStep => ({
    attempt,
    effect,
    slot,
    key,
    ...(input === undefined ? {} : { input: input.value }),
    knownAbsent: knownAbsent.has(slot),
    onCommitted: () => {
      committedMonotonic = runtime.clock.monotonic();
    },
  });

  const definitionOf = (definition: EffectDefinition): AnyEffect => {
    const declared = task.effects.get(definition.name);
    if (declared === definition) return declared;
    if (declared !== undefined) {
      throw new LeaseholdError(
        "InvalidArgument",
        `task.effect: ${definition.name} is not the effect of that name that task type ${task.type} declares; expected the declared definition, or another name`,
      );
    }
    checkEffect(definition, "task.effect");
    const effect: AnyEffect = definition;
    if (guardOf(effect) === "none") {
      throw new LeaseholdError(
        "InvalidArgument",
        `task.effect: effect ${effect.name} has the guard "none"; expected it among the effects of task type ${task.type}, so that it can be read back before a retry runs`,
      );
    }
    inline.set(effect.name, effect);
    return effect;
  };

  const perform = async (step: EffectStep): Promise<Receipt> => {
    try {
      if (step.effect.scope !== "global") return await performEffect(step);
      return await performShared(step);
    } catch (error) {
      if (error instanceof WaitForKeyError) waitedForKey = true;
      throw error;
    } finally {
      knownAbsent.delete(step.slot);
      attempt.claims.endEffect(step.slot);
      attempt.rewatch();
    }
  };

  const performShared = async (step: EffectStep): Promise<Receipt> => {
    const own = lease.record.effects[step.slot];
    if (own?.receipt !== undefined) return own.receipt;
    const shared = await takeSharedKey(attempt, step.slot, step.effect.externalSystem, step.key);
    if (shared.taken === "made") return recordReceipt(attempt, step.slot, own ?? intentOf(step), shared.receipt);
    if (shared.taken === "inherited" && (own === undefined || own.state === "failed")) {
      // In the record before it is read back: a person must be able to name it, should nobody know what became of it.
      await inherit(attempt, step.slot, { ...intentOf(step), ...shared.intent });
      return performEffect({ ...step, knownAbsent: false });
    }
    return performEffect(step);
  };

  /** An intent that may have been begun by an owner whose record is gone. */
  const intentOf = (step: EffectStep): EffectState => {
    const at = formatTime(runtime.clock.now());
    return {
      key: step.key,
      guard: guardOf(step.effect),
      state: "started",
      begun_at: at,
      first_begun_at: at,
      fence: lease.fence,
      begins: 0,
      shared: true,
      external_system: step.effect.externalSystem,
    };
  };

  const track = <T>(promise: Promise<T>): Promise<T> => {
    const settled: Promise<unknown> = promise.then(
      () => underWay.delete(settled),
      () => underWay.delete(settled),
    );
    underWay.add(settled);
    return promise;
  };

  return {
    async run(definition, input, item) {
      assertOpen();
      const effect = definitionOf(definition);
      if (item !== undefined && (typeof item !== "string" || !/^[A-Za-z0-9_.-]{1,128}$/.test(item))) {
        throw new LeaseholdError(
          "InvalidArgument",
          `task.effect: item: got ${JSON.stringify(item)?.slice(0, 60)}, expected 1 to 128 of A-Z a-z 0-9 _ . -`,
        );
      }
      const slot = item === undefined ? effect.name : `${effect.name}:${item}`;
      const inputText = canonicalJson(input ?? null, `effect ${slot}: input`);
      const earlier = calls.get(slot);
      if (earlier !== undefined && !earlier.failed) {
        if (earlier.inputText === inputText) return earlier.promise;
        throw new LeaseholdError(
          "InvalidArgument",
          `effect ${slot} was called before in this attempt with another input; an effect is made once: give each its own item, task.effect(${effect.name}, input, { item })`,
        );
      }
      const key =
        effect.scope === "global"
          ? sharedKey(effect, input, slot)
          : effectKey(lease.record.idempotency_key, effect.name, item);
      const call: Call = {
        inputText,
        promise: track(perform(stepOf(effect, slot, key, { value: input }))),
        failed: false,
      };
      calls.set(slot, call);
      call.promise.catch((error: unknown) => {
        call.failed = verdictOf(error) === "not_committed";
      });
      return call.promise;
    },

    async idle() {
      while (underWay.size > 0) await Promise.all(underWay);
    },
    close() {
      closed = true;
    },
    get busy() {
      return underWay.size > 0;
    },

    async resolveOpen(when) {
      const outcomes: OpenOutcome[] = [];
      for (const [slot, before] of Object.entries(lease.record.effects)) {
        if (before.state !== "started" && before.state !== "committed") continue;
        const name = effectNameOf(slot);
        const effect = task.effects.get(name) ?? inline.get(name);
        if (effect === undefined) {
          if (when === "at_end") {
            outcomes.push({
              slot,
              is: "park",
              error: new ParkError(`effect ${slot} is open and this worker does not know how to read it back`),
            });
          }
          continue;
        }
        outcomes.push(await resolveSlot(effect, slot, before, when === "at_end"));
      }
      return outcomes;
    },

    get committedMonotonic() {
      return committedMonotonic;
    },
    get waitedForKey() {
      return waitedForKey;
    },
  };

  async function resolveSlot(
    effect: AnyEffect,
    slot: string,
    before: EffectState,
    ending: boolean,
  ): Promise<OpenOutcome> {
    try {
      const receipt = await resolveOpen({ ...stepOf(effect, slot, before.key), ending }, before);
      if (receipt !== undefined) return { slot, is: "verified", receipt };
      knownAbsent.add(slot);
      return { slot, is: "absent" };
    } catch (error) {
      const verdict = verdictOf(error);
      if (verdict !== "retryable" && verdict !== "park") throw error;
      return { slot, is: verdict === "park" ? "park" : "unsure", error };
    } finally {
      attempt.claims.endEffect(slot);
      attempt.rewatch();
    }
  }

  function assertOpen(): void {
    attempt.watch.look();
    if (closed)
      throw new LeaseholdError("LeaseLost", `the handler of task ${lease.taskId} has ended; await its effects in it`);
    if (lease.signal.aborted) throw lease.signal.reason;
    lease.assertLive();
  }
}

function sharedKey(effect: AnyEffect, input: unknown, slot: string): string {
  const key: unknown = effect.key?.(input);
  if (typeof key !== "string" || key === "") {
    throw new LeaseholdError(
      "InvalidArgument",
      `effect ${slot}: key: got ${key === "" ? "empty text" : typeof key}, expected the text that tasks share`,
    );
  }
  return effectKey(key, undefined, undefined);
}
