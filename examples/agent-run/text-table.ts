/** A table of plain text with two spaces between columns. Wide cells are cut with a mark. */
export function textTable(head: readonly string[], rows: readonly (readonly string[])[], widest = 60): string[] {
  const cut = (cell: string): string => (cell.length > widest ? `${cell.slice(0, widest - 1)}…` : cell);
  const all = [head, ...rows].map((row) => row.map(cut));
  const widths = head.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  return all.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}
