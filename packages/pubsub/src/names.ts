import { invalid } from "@leasehold/core/driver";

/** Three to 255 characters, and a letter first; the service refuses others in every call. */
const ID = "[A-Za-z][A-Za-z0-9._~%+-]{2,254}";
const PROJECT = /^[A-Za-z0-9][A-Za-z0-9.:_-]{0,99}$/;
const SHORT = new RegExp(`^${ID}$`);

/** A topic or a subscription by its two parts. */
export interface ResourceName {
  readonly project: string;
  readonly id: string;
  /** `projects/<project>/topics/<id>` */
  readonly full: string;
}

/** Reads `orders`, or `projects/other/topics/orders` for one of another project. Throws `InvalidArgument` naming `field`. */
export function nameOf(kind: "topics" | "subscriptions", project: string, text: string, field: string): ResourceName {
  const match = new RegExp(`^projects/([^/]+)/${kind}/(${ID})$`).exec(text);
  const [owner, id] = match === null ? [project, text] : [match[1] ?? "", match[2] ?? ""];
  if (!SHORT.test(id)) throw invalid(field, `a name such as orders or projects/my-project/${kind}/orders`, text);
  if (!PROJECT.test(owner)) throw invalid("project", "the id of a project, such as my-project", owner);
  return { project: owner, id, full: `projects/${owner}/${kind}/${id}` };
}
