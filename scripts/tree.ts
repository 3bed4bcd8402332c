const longestFile = 500;

/** Files that a tool writes may be as long as it makes them. */
const generated = /(^|\/)(pnpm-lock\.yaml|CHANGELOG\.md)$/;

// Written so that no pattern matches its own source.
const registryHost =
  /\b(?:registry\.[\w-]+\.(?:org|com|io)|npmjs\.(?:org|com)|pypi\.org|files\.pythonhosted\.org|crates\.io|(?:proxy|sum)\.golang\.org|(?:repo1?|central)\.(?:maven|sonatype)\.[\w.]*(?:org|com)|(?:deb|security)\.debian\.org)\b/i;
const machinePath = /(?<![\w.~}*-])\/(?:work|root)\//;
const unowned = /\b(?:[T]ODO|[F]IXME)\b(?!.*#\d)/;

/** What is wrong with one file that git tracks, whatever its language. */
export function treeProblems(file: string, text: string): string[] {
  if (text.includes("\0")) return [];
  const lines = text.replace(/\n$/, "").split("\n");
  const problems: string[] = [];
  if (lines.length > longestFile && !generated.test(file)) {
    problems.push(`${file}: ${lines.length} lines, at most ${longestFile}: a concept wants a file of its own`);
  }
  lines.forEach((line, index) => {
    const place = `${file}:${index + 1}`;
    if (registryHost.test(line)) problems.push(`${place}: names the host of a package registry`);
    if (machinePath.test(line)) problems.push(`${place}: names a path of one machine`);
    if (unowned.test(line)) problems.push(`${place}: a to-do without the number of its issue, as in (#12)`);
  });
  return problems;
}
