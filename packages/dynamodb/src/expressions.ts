import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import { type Condition, type FieldPath, type ItemUpdate, LeaseholdError } from "@leasehold/core/driver";
import { toAttribute } from "./attributes.ts";
import { KEY_FIELD } from "./table-shape.ts";

/**
 * Conditions and updates as DynamoDB writes them. Every name and every value goes in by a placeholder: names may be reserved words
 * (`status`, `queue`) or hold dots, and nothing that a user chose is ever part of an expression's text.
 * https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.html
 */

/** The placeholders of one request. */
export interface Placeholders {
  name(field: string): string;
  value(value: string | number | boolean): string;
  attribute(value: AttributeValue): string;
  /** What the request has to carry beside its expressions. DynamoDB refuses an empty map, and a placeholder that nothing uses. */
  parameters(): {
    readonly ExpressionAttributeNames?: Record<string, string>;
    readonly ExpressionAttributeValues?: Record<string, AttributeValue>;
  };
}

export function createPlaceholders(): Placeholders {
  const names = new Map<string, string>();
  const values: Record<string, AttributeValue> = {};
  let count = 0;
  const attribute = (value: AttributeValue): string => {
    const placeholder = `:v${count++}`;
    values[placeholder] = value;
    return placeholder;
  };
  return {
    name(field) {
      if (field === KEY_FIELD) {
        throw new LeaseholdError("InvalidArgument", `field ${KEY_FIELD}: it holds the item's key; choose another name`);
      }
      const placeholder = names.get(field) ?? `#n${names.size}`;
      names.set(field, placeholder);
      return placeholder;
    },
    value: (value) => attribute(toAttribute(value)),
    attribute,
    parameters() {
      return {
        ...(names.size > 0 && {
          ExpressionAttributeNames: Object.fromEntries([...names].map(([field, placeholder]) => [placeholder, field])),
        }),
        ...(count > 0 && { ExpressionAttributeValues: values }),
      };
    },
  };
}

/** The condition as an expression. Throws `InvalidArgument` for an empty list of conditions: such a write would be as good as unconditional. */
export function conditionExpression(condition: Condition, placeholders: Placeholders): string {
  return render(condition, placeholders, undefined);
}

type Word = "AND" | "OR";

/**
 * `within`: the word that joins it to its neighbours. AND binds more tightly than OR, so only an OR within an AND is in parentheses. DynamoDB
 * refuses parentheses that change nothing, and an emulator's parser takes three times as long for each level of them.
 */
function render(condition: Condition, placeholders: Placeholders, within: Word | undefined): string {
  if ("all" in condition) return join(condition.all, "AND", placeholders, within);
  if ("any" in condition) return join(condition.any, "OR", placeholders, within);
  if ("exists" in condition) return `attribute_exists(${path(condition.exists, placeholders)})`;
  if ("absent" in condition) return `attribute_not_exists(${path(condition.absent, placeholders)})`;
  return comparison(condition, placeholders, within);
}

function join(parts: readonly Condition[], word: Word, placeholders: Placeholders, within: Word | undefined): string {
  const [only] = parts;
  if (only === undefined) {
    throw new LeaseholdError("InvalidArgument", "condition: got an empty list, expected at least one condition");
  }
  if (parts.length === 1) return render(only, placeholders, within);
  const texts = parts.map((part) => render(part, placeholders, word));
  return word === "OR" ? anyOf(texts, within) : texts.join(" AND ");
}

type Comparison = Extract<Condition, { readonly field: FieldPath }>;

function comparison({ field, is, value }: Comparison, placeholders: Placeholders, within: Word | undefined): string {
  const left = path(field, placeholders);
  if (typeof value === "boolean") return booleanComparison(left, is, value, placeholders, within);
  const right = placeholders.value(value);
  if (is !== "<>") return `${left} ${is} ${right}`;
  // To DynamoDB a missing field, and one of another type, is unequal to everything.
  const type = placeholders.attribute({ S: typeof value === "string" ? "S" : "N" });
  return `attribute_type(${left}, ${type}) AND ${left} <> ${right}`;
}

/** DynamoDB has no order of booleans: the comparison names the values for which it holds. */
function booleanComparison(
  left: string,
  is: Comparison["is"],
  value: boolean,
  placeholders: Placeholders,
  within: Word | undefined,
): string {
  const holds = [false, true].filter((candidate) => {
    const order = Number(candidate) - Number(value);
    if (order === 0) return is === "=" || is === "<=" || is === ">=";
    return is === "<>" || (order < 0 ? is.startsWith("<") : is.startsWith(">"));
  });
  if (holds.length === 0) {
    const right = placeholders.value(value);
    return `${left} = ${right} AND ${left} <> ${right}`;
  }
  return anyOf(
    holds.map((one) => `${left} = ${placeholders.value(one)}`),
    within,
  );
}

function anyOf(texts: readonly string[], within: Word | undefined): string {
  const text = texts.join(" OR ");
  return within === "AND" && texts.length > 1 ? `(${text})` : text;
}

function path(field: FieldPath, placeholders: Placeholders): string {
  const parts = typeof field === "string" ? [field] : field;
  return parts.map((part) => placeholders.name(part)).join(".");
}

/** The update as an expression; `undefined` when it changes nothing. All values are taken from the item as it was. */
export function updateExpression(update: ItemUpdate, placeholders: Placeholders): string | undefined {
  const set = Object.entries(update.set ?? {}).map(
    ([field, value]) => `${placeholders.name(field)} = ${placeholders.attribute(toAttribute(value, field))}`,
  );
  const remove = (update.remove ?? []).map((field) => placeholders.name(field));
  const add = Object.entries(update.increment ?? {}).map(
    ([field, by]) => `${placeholders.name(field)} ${placeholders.value(by)}`,
  );
  const clauses = [clause("SET", set), clause("REMOVE", remove), clause("ADD", add)].filter((text) => text !== "");
  return clauses.length === 0 ? undefined : clauses.join(" ");
}

function clause(word: string, actions: readonly string[]): string {
  return actions.length === 0 ? "" : `${word} ${actions.join(", ")}`;
}
