/** Bytes of Service Bus, read without what rhea makes of them. */
import rhea from "rhea";

/** A value and the name of its AMQP type, without the width that it was written with. */
export interface Typed {
  readonly type: string;
  readonly value: unknown;
}

export interface Sections {
  readonly header: readonly Typed[];
  readonly annotations: ReadonlyMap<string, Typed>;
  /** Application properties. */
  readonly properties: ReadonlyMap<string, Typed>;
  /** The body, where it is an AMQP value. */
  readonly value: Typed | undefined;
}

interface Node {
  readonly type: { readonly name: string };
  readonly value: unknown;
  readonly descriptor?: { readonly value: unknown };
}

const { Reader } = rhea.types as unknown as {
  readonly Reader: new (bytes: Buffer) => { read(): Node; remaining(): number };
};

const HEADER = 0x70;
const MESSAGE_ANNOTATIONS = 0x72;
const APPLICATION_PROPERTIES = 0x74;
const VALUE = 0x77;

/** Takes an encoded message apart. */
export function sectionsOf(bytes: Buffer): Sections {
  const reader = new Reader(bytes);
  const sections = new Map<number, Node>();
  while (reader.remaining() > 0) {
    const section = reader.read();
    sections.set(Number(section.descriptor?.value), section);
  }
  const value = sections.get(VALUE);
  return {
    header: ((sections.get(HEADER)?.value ?? []) as readonly Node[]).map(typedOf),
    annotations: mapOf(sections.get(MESSAGE_ANNOTATIONS)),
    properties: mapOf(sections.get(APPLICATION_PROPERTIES)),
    value: value === undefined ? undefined : typedOf(value),
  };
}

/** The lock token that a delivery tag stands for: the bytes of the first three groups are turned round (emulators.md 1.3). */
export function lockTokenOf(tag: Buffer): string {
  return rhea.uuid_to_string(Buffer.from([3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15].map((at) => tag[at]!)));
}

function mapOf(section: Node | undefined): ReadonlyMap<string, Typed> {
  const nodes = (section?.value ?? []) as readonly Node[];
  const map = new Map<string, Typed>();
  for (let at = 0; at + 1 < nodes.length; at += 2) map.set(String(nodes[at]!.value), typedOf(nodes[at + 1]!));
  return map;
}

/** Writers choose among widths: `Long` and `SmallLong` are the same type. */
function typedOf({ type, value }: Node): Typed {
  const name = type.name.replace(/^Small/, "").replace(/^(Sym|Str|Vbin)(8|32)$/, (_, kind: string) => NAMES[kind]!);
  return { type: name.replace(/^(Uint|Ulong)0$/, "$1"), value };
}

const NAMES: Readonly<Record<string, string>> = { Sym: "Symbol", Str: "String", Vbin: "Binary" };
