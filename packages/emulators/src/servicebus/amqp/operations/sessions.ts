import { types } from "../rhea.ts";
import { type Operation, queueIn } from "./operation.ts";

/** The last day of .NET's calendar asks for the sessions that have messages, whenever they changed. */
const END_OF_TIME = Date.UTC(9999, 11, 31);

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
    for (const { id, updatedAt, messages } of queueIn(input).inventory.sessions.all()) {
      const isMeant = since >= END_OF_TIME ? messages.size() > 0 : updatedAt > since;
      if (isMeant) ids.push(id);
    }
    const page = ids.slice(skip, skip + top);
    return page.length === 0 ? undefined : { skip: types.wrap_int(skip + page.length), "sessions-ids": page };
  },
};
