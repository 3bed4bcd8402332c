import { fromUnknown, isLeaseholdError, LeaseholdError } from "../errors.ts";
import type { Outcome } from "./driver.ts";

/**
 * Makes a call for a batch and answers one outcome for each item, whatever the driver does: a call that throws, also before
 * it has begun, and an answer that breaks the contract are failures of the items. Never rejects.
 */
export async function outcomesOf(
  call: () => Promise<readonly Outcome[]>,
  items: number,
  doing: string,
): Promise<readonly Outcome[]> {
  try {
    const answer: unknown = await call();
    const given: readonly unknown[] = Array.isArray(answer) ? answer : [];
    return Array.from({ length: items }, (_, index) => outcomeOf(given[index], doing));
  } catch (error) {
    const outcome = failed(error, doing);
    return Array.from({ length: items }, () => outcome);
  }
}

function outcomeOf(given: unknown, doing: string): Outcome {
  const outcome = (given ?? {}) as Partial<Outcome & { readonly error: unknown }>;
  switch (outcome.status) {
    case "confirmed":
    case "lost":
      return { status: outcome.status };
    case "unconfirmed":
      return outcome.error === undefined
        ? { status: "unconfirmed" }
        : { status: "unconfirmed", error: fromUnknown(outcome.error, doing) };
    case "failed":
      return isLeaseholdError(outcome.error)
        ? { status: "failed", code: outcome.error.code, error: outcome.error }
        : failed(outcome.error ?? "the driver gave no error", doing);
    default:
      return failed(
        new LeaseholdError("Unknown", `${doing}: the driver owes an outcome for each item, and gave none for this one`),
        doing,
      );
  }
}

function failed(error: unknown, doing: string): Outcome {
  const failure = fromUnknown(error, doing);
  return { status: "failed", code: failure.code, error: failure };
}
