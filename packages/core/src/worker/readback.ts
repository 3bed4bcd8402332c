import { fromUnknown, LeaseholdError } from "../errors.ts";
import type { AnyEffect, Verified } from "../task/define.ts";
import { refusal } from "../util/issues.ts";

/** What reading an effect back says. Only `absent` can ever lead to a commit. */
export type Readback =
  | { readonly found: "verified"; readonly verified: Verified }
  /** The system answered: it is not there. */
  | { readonly found: "absent" }
  /** It is there but not as it should be, or the system did not answer. */
  | { readonly found: "unsure"; readonly error?: LeaseholdError }
  /** The system cannot be read. */
  | { readonly found: "unreadable" };

export interface ReadbackContext {
  readonly idempotencyKey: string;
  readonly input?: unknown;
  readonly externalId?: string;
  readonly signal: AbortSignal;
}

/** Reads an effect back. Never throws: what `find` or `verify` throws is `unsure`. */
export async function readBack(effect: AnyEffect, context: ReadbackContext): Promise<Readback> {
  if (effect.find === null) return { found: "unreadable" };
  try {
    const thing: unknown = await effect.find(context);
    if (thing === null || thing === undefined) return { found: "absent" };
    if (Array.isArray(thing)) {
      throw new LeaseholdError(
        "InvalidArgument",
        `effect ${effect.name}: find returned an array; expected the one thing that the effect made, or undefined`,
      );
    }
    return await judge(effect, thing);
  } catch (error) {
    return { found: "unsure", error: fromUnknown(error, `find of effect ${effect.name}`) };
  }
}

/** Lets `verify` judge a thing or, for a system that cannot be read, the answer of the commit. */
export async function judge(effect: AnyEffect, thing: unknown): Promise<Readback> {
  try {
    const verified = (await effect.verify(thing)) as Verified | false | null | undefined;
    if (verified === false || verified === null || verified === undefined) return { found: "unsure" };
    checkVerified(effect, verified);
    return { found: "verified", verified };
  } catch (error) {
    return { found: "unsure", error: fromUnknown(error, `verify of effect ${effect.name}`) };
  }
}

/** A receipt is for good: one that names nothing proves nothing. */
function checkVerified(effect: AnyEffect, verified: Verified): void {
  const { externalId, status } = Object(verified) as Partial<Record<keyof Verified, unknown>>;
  for (const [field, value] of Object.entries({ externalId, status })) {
    if (typeof value === "string" && value !== "") continue;
    throw refusal(
      `what verify of effect ${effect.name} answered: ${field}`,
      value,
      "text: verify answers { externalId, status } for what is as it should be, else false",
    );
  }
}
