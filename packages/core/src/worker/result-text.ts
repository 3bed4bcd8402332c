import { LeaseholdError } from "../errors.ts";
import { byteLength, canonicalJson } from "../util/json.ts";

/** A handler's result as JSON text; `undefined` stays `undefined`. Throws `InvalidArgument` or `PayloadTooLarge`. */
export function resultText(value: unknown, maxBytes: number): string | undefined {
  if (value === undefined) return undefined;
  const text = canonicalJson(value, "result");
  const bytes = byteLength(text);
  if (bytes <= maxBytes) return text;
  throw new LeaseholdError(
    "PayloadTooLarge",
    `result: ${bytes} bytes of JSON, at most ${maxBytes}; store it elsewhere and return a reference`,
    {
      details: { bytes, limit: maxBytes },
    },
  );
}
