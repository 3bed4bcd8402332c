import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LeaseholdError, RetryableError } from "../errors.ts";
import { errorTypeOf } from "./error-type.ts";

class PaymentRefused extends Error {}

describe("error type", () => {
  it("is the code of an error of leasehold", () => {
    assert.equal(errorTypeOf(new LeaseholdError("ResourceExhausted", "too many calls")), "ResourceExhausted");
  });

  it("is the name of any other error's class", () => {
    assert.equal(errorTypeOf(new RetryableError("busy")), "RetryableError");
    assert.equal(errorTypeOf(new TypeError("x is no function")), "TypeError");
    assert.equal(errorTypeOf(AbortSignal.abort().reason), "AbortError");
  });

  it("is the constructor's when the error's own name is no class name", () => {
    const error = new PaymentRefused("no");
    error.name = "refused for order 4711";
    assert.equal(errorTypeOf(error), "PaymentRefused");
    error.name = "x".repeat(65);
    assert.equal(errorTypeOf(error), "PaymentRefused");
  });

  it("is one word for all that is no error", () => {
    for (const thrown of ["order 4711 failed", undefined, null, 404, { code: "ENOENT" }]) {
      assert.equal(errorTypeOf(thrown), "_OTHER");
    }
  });
});
