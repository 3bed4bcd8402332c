import { invalidValue, missingParameter, SqsError, wireError } from "./errors.ts";

export interface BatchEntry {
  readonly Id?: string;
}

export interface BatchOutput {
  readonly Successful: readonly object[];
  readonly Failed: readonly object[];
}

/** SQS-40. */
const MAX_ENTRIES = 10;
const ENTRY_ID = /^[A-Za-z0-9_-]{1,80}$/;

/** Throws what makes a whole batch fail (SQS-41). */
export function checkEntries<T extends BatchEntry>(entries: readonly T[] | undefined, kind: string): readonly T[] {
  if (entries === undefined) throw missingParameter("Entries");
  if (entries.length === 0) {
    throw new SqsError("EmptyBatchRequest", `There should be at least one ${kind} in the request.`);
  }
  if (entries.length > MAX_ENTRIES) {
    throw new SqsError(
      "TooManyEntriesInBatchRequest",
      `Maximum number of entries per request are ${MAX_ENTRIES}. You have sent ${entries.length}.`,
    );
  }
  const seen = new Set<string>();
  for (const { Id: id = "" } of entries) {
    if (!ENTRY_ID.test(id)) {
      throw new SqsError(
        "InvalidBatchEntryId",
        "A batch entry id can only contain alphanumeric characters, hyphens and underscores. It can be at most 80 letters long.",
      );
    }
    if (seen.has(id)) throw new SqsError("BatchEntryIdsNotDistinct", `Id ${id} repeated.`);
    seen.add(id);
  }
  return entries;
}

/** Runs each entry by itself: one that is refused is told in its own result, and costs no other one (SQS-40). */
export function runBatch<T extends BatchEntry>(entries: readonly T[], run: (entry: T) => void): BatchOutput {
  const Successful: object[] = [];
  const Failed: object[] = [];
  for (const entry of entries) {
    const error = refusal(() => run(entry));
    if (error === undefined) Successful.push({ Id: entry.Id });
    else Failed.push(renderFailure(entry, error));
  }
  return { Successful, Failed };
}

/** What the service has against something; other errors are bugs and pass. */
export function refusal(run: () => void): SqsError | undefined {
  try {
    run();
    return undefined;
  } catch (error) {
    if (error instanceof SqsError) return error;
    throw error;
  }
}

export function renderFailure(entry: BatchEntry, error: SqsError): object {
  const { queryCode, senderFault } = wireError(error.code);
  return { Id: entry.Id, SenderFault: senderFault, Code: queryCode, Message: error.message };
}

/** Throws for a number outside of what the service takes; `undefined` is the parameter left out. */
export function checkRange(parameter: string, value: number | undefined, min: number, max: number): void {
  if (value === undefined || (Number.isInteger(value) && value >= min && value <= max)) return;
  throw invalidValue(value, parameter, `Must be between ${min} and ${max}, if provided.`);
}
