import { invalidField, type ServicebusError } from "../errors.ts";
import { isTrue, type Typed } from "./rhea.ts";
import { propertiesIn } from "./sections.ts";

/** What an operation needs, read from the body of a request. Each throws `amqp:invalid-field` when it is not there. */
export interface Fields {
  text(name: string): string;
  optionalText(name: string): string | undefined;
  integer(name: string): number;
  time(name: string): number;
  bytes(name: string): Buffer | undefined;
  list(name: string): readonly unknown[];
  /** Its entries with their types; none when it is not there. */
  optionalMap(name: string): Readonly<Record<string, Typed>>;
  flag(name: string): boolean;
}

export function fieldsOf(body: unknown, typedFields: Readonly<Record<string, Typed>>): Fields {
  if (!isMap(body)) throw invalidField("The body of the request has to be a map.");
  const wrong = (name: string, what: string): ServicebusError => invalidField(`The field ${name} has to be ${what}.`);
  const optionalText = (name: string): string | undefined => {
    const value = body[name];
    if (value === undefined || value === null) return undefined;
    if (typeof value !== "string") throw wrong(name, "a string");
    return value;
  };
  return {
    optionalText,
    text(name) {
      const value = optionalText(name);
      if (value === undefined) throw wrong(name, "a string");
      return value;
    },
    integer(name) {
      const value = integerOf(body[name]);
      if (value === undefined) throw wrong(name, "an integer");
      return value;
    },
    time(name) {
      const value = body[name];
      if (!(value instanceof Date)) throw wrong(name, "a timestamp");
      return value.getTime();
    },
    bytes(name) {
      const value = body[name];
      if (value === undefined || value === null) return undefined;
      if (!Buffer.isBuffer(value)) throw wrong(name, "binary");
      return value;
    },
    list(name) {
      const value = body[name];
      if (!Array.isArray(value) || value.length === 0) throw wrong(name, "a list that is not empty");
      return value;
    },
    optionalMap(name) {
      const value = body[name];
      if (value === undefined || value === null) return {};
      if (!isMap(value)) throw wrong(name, "a map");
      return propertiesIn(typedFields[name]);
    },
    flag: (name) => isTrue(body[name]),
  };
}

/** rhea reads a long as a number, or as its bytes when it is too large for one. */
export function integerOf(value: unknown): number | undefined {
  const number = Buffer.isBuffer(value) && value.length === 8 ? Number(value.readBigInt64BE()) : value;
  return typeof number === "number" && Number.isInteger(number) ? number : undefined;
}

export function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  const isPlain = typeof value === "object" && value !== null && !Array.isArray(value);
  return isPlain && !Buffer.isBuffer(value) && !(value instanceof Date);
}
