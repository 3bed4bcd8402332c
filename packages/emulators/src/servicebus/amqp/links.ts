import { createAlarm } from "../../alarm.ts";
import type { EmulatorClock } from "../../clock.ts";
import { ServicebusError } from "../errors.ts";
import type { Line } from "./gate.ts";
import type { AmqpLink } from "./rhea.ts";

/** A link that is there for an entity, or for its `$management`. */
export interface OpenLink {
  readonly connection: Line;
  readonly path: string;
  /** Says that something went over it. */
  touch(): void;
  /** The server ends it, with a reason. */
  detach(error: ServicebusError): void;
  /** It is gone, whoever ended it. */
  end(): void;
}

/** All links of the server, so that they can be ended from here (SB-05). */
export interface Links {
  add(connection: Line, path: string, link: AmqpLink, ended: () => void): OpenLink;
  /** Ends those that `isMeant` names. Answers how many. */
  detach(isMeant: (link: OpenLink) => boolean, error: (link: OpenLink) => ServicebusError): number;
}

/** `idleMs`: how long a link is kept without traffic. */
export function createLinks(clock: EmulatorClock, idleMs: number): Links {
  const links = new Set<OpenLink>();

  return {
    add(connection, path, link, ended) {
      let touchedAt = clock.now();
      const alarm = createAlarm(clock, watch);

      function watch(): void {
        const idleAt = touchedAt + idleMs;
        if (idleAt > clock.now()) alarm.set(idleAt);
        else open.detach(detachForced(`The link '${link.name}' is force detached: it was idle for ${idleMs} ms.`));
      }

      const open: OpenLink = {
        connection,
        path,
        touch() {
          touchedAt = clock.now();
        },
        detach({ condition, message }) {
          if (!links.has(open)) return;
          link.close({ condition, description: message });
          open.end();
        },
        end() {
          if (!links.delete(open)) return;
          alarm.cancel();
          ended();
        },
      };
      links.add(open);
      if (Number.isFinite(idleMs)) watch();
      return open;
    },
    detach(isMeant, error) {
      const meant = [...links].filter(isMeant);
      for (const link of meant) link.detach(error(link));
      return meant.length;
    },
  };
}

export function detachForced(description: string): ServicebusError {
  return new ServicebusError("amqp:link:detach-forced", description);
}
