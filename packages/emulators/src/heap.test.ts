import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createHeap } from "./heap.ts";

/** 0 to 2,799, each once, in no order that is easy to see. */
const SIZE = 2_800;
const values = Array.from({ length: SIZE }, (_, index) => (index * 1_009) % SIZE);

describe("heap", () => {
  it("hands out what is in it in order, whatever was taken out before", () => {
    const heap = createHeap<number>((left, right) => left < right);
    const places = values.map((value) => heap.add(value));
    for (const place of places) if (place.value % 3 === 0) heap.remove(place);
    for (const place of places) if (place.value % 3 === 0) heap.remove(place);
    const out: number[] = [];
    for (let first = heap.first(); first !== undefined; first = heap.first()) {
      out.push(first);
      heap.remove(places[values.indexOf(first)] as (typeof places)[number]);
    }
    assert.deepEqual(
      out,
      [...values].filter((value) => value % 3 !== 0).sort((left, right) => left - right),
    );
    assert.equal(heap.size(), 0);
  });
});
