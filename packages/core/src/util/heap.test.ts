import assert from "node:assert/strict";
import { test } from "node:test";
import { createHeap, type Heap } from "./heap.ts";

interface Entry {
  value: number;
  index: number;
}

function heapOf(values: readonly number[]): { readonly heap: Heap<Entry>; readonly entries: readonly Entry[] } {
  const heap = createHeap<Entry>((left, right) => left.value < right.value, {
    get: (entry) => entry.index,
    set: (entry, index) => {
      entry.index = index;
    },
  });
  const entries = values.map((value) => ({ value, index: -1 }));
  for (const entry of entries) heap.push(entry);
  return { heap, entries };
}

function drain(heap: Heap<Entry>): number[] {
  const values: number[] = [];
  for (let entry = heap.pop(); entry !== undefined; entry = heap.pop()) values.push(entry.value);
  return values;
}

/** 0..size-1 in a scattered order: 7919 is prime and divides no size used here. */
const scattered = (size: number): number[] => Array.from({ length: size }, (_, index) => (index * 7919) % size);
const ascending = (values: readonly number[]): number[] => [...values].sort((left, right) => left - right);

test("items leave in order", () => {
  const values = scattered(500);
  assert.deepEqual(drain(heapOf(values).heap), ascending(values));
});

test("any item can be taken out, once, and the rest stays in order", () => {
  for (let removed = 0; removed < 60; removed++) {
    const { heap, entries } = heapOf(scattered(60));
    const entry = entries[removed] as Entry;
    assert.equal(heap.remove(entry), true);
    assert.equal(heap.remove(entry), false);
    assert.equal(entry.index, -1);
    assert.equal(heap.size(), 59);
    assert.deepEqual(
      drain(heap),
      ascending(scattered(60)).filter((value) => value !== entry.value),
    );
  }
});

test("an item of another heap is not taken out", () => {
  const first = heapOf([1, 2, 3]);
  const second = heapOf([4, 5, 6]);
  assert.equal(first.heap.remove(second.entries[1] as Entry), false);
  assert.deepEqual(drain(first.heap), [1, 2, 3]);
});

test("reorder follows changed values", () => {
  const { heap, entries } = heapOf(scattered(100));
  for (const entry of entries) entry.value = 1000 - entry.value;
  heap.reorder();
  assert.deepEqual(drain(heap), ascending(entries.map((entry) => entry.value)));
});

test("an empty heap answers undefined", () => {
  const { heap } = heapOf([]);
  assert.equal(heap.peek(), undefined);
  assert.equal(heap.pop(), undefined);
});
