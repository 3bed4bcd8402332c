import type { Dice } from "../simulation/random.ts";

/** What a client said, in one of many ways wrong; now and then nothing but noise. */
export function mutate(said: readonly Buffer[], dice: Dice): Buffer {
  if (dice.chance(0.1)) return noise(dice, dice.int(1, 2_000));
  let bytes: Buffer = Buffer.from(dice.pick(said));
  for (let changes = dice.int(1, 6); changes > 0; changes--) bytes = change(bytes, said, dice);
  return bytes;
}

function change(bytes: Buffer, said: readonly Buffer[], dice: Dice): Buffer {
  if (bytes.length === 0) return noise(dice, 8);
  const at = dice.int(0, bytes.length - 1);
  const end = Math.min(bytes.length, at + dice.int(1, 64));
  switch (dice.pick(["flip", "cut", "drop", "repeat", "insert", "extreme", "splice"])) {
    case "flip":
      bytes[at] = (bytes[at] as number) ^ (1 << dice.int(0, 7));
      return bytes;
    case "cut":
      return bytes.subarray(0, at);
    case "drop":
      return Buffer.concat([bytes.subarray(0, at), bytes.subarray(end)]);
    case "repeat":
      return Buffer.concat([bytes.subarray(0, end), bytes.subarray(at)]);
    case "insert":
      return Buffer.concat([bytes.subarray(0, at), noise(dice, dice.int(1, 32)), bytes.subarray(at)]);
    case "extreme":
      // Lengths and counts are where parsers break.
      bytes.fill(dice.pick([0x00, 0x7f, 0x80, 0xff]), at, Math.min(bytes.length, at + dice.pick([1, 2, 4, 8])));
      return bytes;
    default: {
      const other = dice.pick(said);
      return Buffer.concat([bytes.subarray(0, at), other.subarray(dice.int(0, other.length))]);
    }
  }
}

function noise(dice: Dice, length: number): Buffer {
  return Buffer.from(Array.from({ length }, () => dice.int(0, 255)));
}
