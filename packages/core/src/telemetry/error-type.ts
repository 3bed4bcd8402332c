import { isLeaseholdError } from "../errors.ts";
import { OTHER } from "./series.ts";

const CLASS_NAME = /^[A-Za-z_$][\w.$]{0,63}$/;

/** The low-cardinality class of an error, for `error.type`: the code of an error of leasehold, else the name of its class. */
export function errorTypeOf(error: unknown): string {
  if (isLeaseholdError(error)) return error.code;
  if (!(error instanceof Error)) return OTHER;
  // An error's own name is writable and may hold anything; what is no class name gives way to the constructor's.
  for (const name of [error.name, error.constructor.name]) {
    if (CLASS_NAME.test(name)) return name;
  }
  return OTHER;
}
