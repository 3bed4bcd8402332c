/** The parts of a page that are made from data. They stand between `<!-- generated: <name> -->` and `<!-- /generated -->`. */
export type Sections = Readonly<Record<string, string>>;

const section = /^(<!-- generated: ([\w-]+) -->\n)(?:(?!<!-- generated)[\s\S])*?^(<!-- \/generated -->)$/gm;

/** The page with its generated parts made anew. Throws when page and data do not name the same parts. */
export function fillSections(page: string, sections: Sections): string {
  const found = new Set<string>();
  const filled = page.replaceAll(section, (_whole, begin: string, name: string, end: string) => {
    const text = sections[name];
    if (text === undefined) throw new Error(`has a part "${name}" that nothing makes`);
    found.add(name);
    return `${begin}\n${text}\n\n${end}`;
  });
  for (const name of Object.keys(sections)) {
    if (!found.has(name))
      throw new Error(`lacks the part "${name}": put <!-- generated: ${name} --> and <!-- /generated --> into it`);
  }
  return filled;
}

/** A Markdown table; bars within cells are escaped. */
export function markdownTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  return [line(header), line(header.map(() => "---")), ...rows.map(line)].join("\n");
}
