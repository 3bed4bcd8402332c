import { invalid } from "./errors.ts";

export type Collection = "topics" | "subscriptions";

const PATH = /^projects\/([^/]+)\/(topics|subscriptions)\/([^/]+)$/;
/** https://cloud.google.com/pubsub/docs/pubsub-basics#resource_names */
const ID = /^[A-Za-z][A-Za-z0-9\-_.~+%]{2,254}$/;

/** What the topic of a subscription is called once it was deleted. */
export const DELETED_TOPIC = "_deleted-topic_";

/** The full name of a thing that may be given by its short one. */
export function nameOf(projectId: string, collection: Collection, name: string): string {
  return name.includes("/") ? name : `projects/${projectId}/${collection}/${name}`;
}

/** Throws INVALID_ARGUMENT for what is no name of this collection. */
export function checkName(name: unknown, collection: Collection): string {
  const [, , found, id = ""] = PATH.exec(String(name)) ?? [];
  if (found === collection && ID.test(id) && !id.startsWith("goog")) return String(name);
  throw invalid(`Invalid [${collection}] name: (name=${String(name)})`);
}

/** `projects/a/topics/b`: `a`. */
export function projectOf(name: string): string {
  return name.split("/")[1] ?? "";
}
