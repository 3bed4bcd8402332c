import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { bytesToGuid, guidToBytes, tagOfToken, tokenOfTag } from "./guid.ts";

const TOKEN = "00112233-4455-6677-8899-aabbccddeeff";

describe("lock tokens", () => {
  it("are delivery tags in the order of .NET", () => {
    assert.equal(tagOfToken(TOKEN).toString("hex"), "33221100554477668899aabbccddeeff");
    assert.equal(tokenOfTag(tagOfToken(TOKEN)), TOKEN);
  });

  it("are UUIDs in their own order elsewhere", () => {
    assert.equal(guidToBytes(TOKEN).toString("hex"), "00112233445566778899aabbccddeeff");
    assert.equal(bytesToGuid(guidToBytes(TOKEN)), TOKEN);
    assert.equal(bytesToGuid(Buffer.alloc(15)), undefined);
  });
});
