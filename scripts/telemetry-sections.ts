import { ATTRIBUTES, type AttributeName } from "../packages/core/src/telemetry/attributes.ts";
import { INSTRUMENTS, type InstrumentDefinition } from "../packages/core/src/telemetry/instruments.ts";
import { SPANS, type SpanDefinition } from "../packages/core/src/telemetry/span-definitions.ts";
import { markdownTable, type Sections } from "./generated-sections.ts";

const instruments: readonly InstrumentDefinition[] = Object.values(INSTRUMENTS);
const spans: readonly SpanDefinition[] = Object.values(SPANS);

const code = (text: string) => `\`${text}\``;
const codes = (texts: readonly string[]) => texts.map(code).join(", ");

function placesOf(name: AttributeName): string {
  const onMeasures = instruments.some((instrument) => instrument.attributes.includes(name));
  const onSpans = spans.some((span) => span.attributes.includes(name));
  return [onMeasures ? "measures" : "", onSpans ? "spans" : ""].filter((place) => place !== "").join(", ");
}

/** The tables of docs/telemetry.md. */
export const telemetrySections: Sections = {
  measures: markdownTable(
    ["name", "kind", "unit", "what it says", "attributes"],
    instruments.map(({ name, kind, unit, description, attributes }) => [
      code(name),
      kind,
      code(unit),
      description,
      codes(attributes),
    ]),
  ),
  spans: markdownTable(
    ["name", "kind", "parent", "links", "what it says", "attributes"],
    spans.map(({ name, kind, parent, links, description, attributes }) => [
      code(name),
      kind,
      parent,
      links === "" ? "none" : links,
      description,
      codes(attributes),
    ]),
  ),
  attributes: markdownTable(
    ["attribute", "on", "value"],
    (Object.entries(ATTRIBUTES) as [AttributeName, string][])
      .sort(([left], [right]) => (left < right ? -1 : 1))
      .map(([name, description]) => [code(name), placesOf(name), description]),
  ),
};
