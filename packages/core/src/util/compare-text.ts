/**
 * Compares as DynamoDB does, by UTF-8 bytes: below, at or above zero. That is the order of code points; code units differ
 * from it only where a surrogate meets a unit above the surrogates.
 */
export function compareText(left: string, right: string): number {
  if (left === right) return 0;
  const shared = Math.min(left.length, right.length);
  let index = 0;
  while (index < shared && left.charCodeAt(index) === right.charCodeAt(index)) index += 1;
  if (index === shared) return left.length - right.length;
  return rank(left.charCodeAt(index)) - rank(right.charCodeAt(index));
}

/** Puts the surrogates, which stand for the code points above U+FFFF, last. */
function rank(unit: number): number {
  if (unit < 0xd800) return unit;
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800;
}
