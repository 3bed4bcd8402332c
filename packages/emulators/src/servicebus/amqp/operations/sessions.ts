import { types } from "../rhea.ts";
import { type Operation, queueIn } from "./operation.ts";

/** Operations on sessions, by their names after `com.microsoft:`. */
export const sessionOperations: Readonly<Record<string, Operation>> = {
  "renew-session-lock"({ fields, hold }) {
    return { expiration: types.wrap_timestamp(Math.floor(hold(fields.text("session-id")).renew())) };
  },
  "set-session-state"({ fields, hold }) {
    hold(fields.text("session-id")).setState(fields.bytes("session-state"));
    return {};
  },
  "get-session-state"({ fields, hold }) {
    return { "session-state": hold(fields.text("session-id")).state() ?? null };
  },
  "get-message-sessions"(input) {
    const { fields } = input;
    const since = fields.time("last-updated-time");
    const [skip, top] = [fields.integer("skip"), fields.integer("top")];
    const ids: string[] = [];
    for (const { id, updatedAt } of queueIn(input).inventory.sessions.all()) if (updatedAt > since) ids.push(id);
    const page = ids.slice(skip, skip + top);
    return page.length === 0 ? undefined : { skip: types.wrap_int(skip + page.length), "sessions-ids": page };
  },
};
