import { createAlarm } from "../../alarm.ts";
import type { EmulatorClock } from "../../clock.ts";
import { ServicebusError } from "../errors.ts";
import { isWithin } from "./address.ts";

/** The tokens of one connection: which paths it may attach to, and until when. */
export interface Tokens {
  /** Notes one. Throws `amqp:unauthorized-access` for one of another key. */
  put(path: string, token: unknown): void;
  /** Whether one covers the path that has not run out. */
  covers(path: string): boolean;
  /** Throws `amqp:unauthorized-access` when none does. */
  check(path: string): void;
  close(): void;
}

export interface TokenRules {
  /** The only key that is let in; `undefined`: every one. */
  readonly keyName: string | undefined;
  /** `undefined`: they do not run out. */
  readonly lifetimeMs: number | undefined;
}

/** `expired` is called when one has run out: links that no other one covers have to go. */
export function createTokens(clock: EmulatorClock, { keyName, lifetimeMs }: TokenRules, expired: () => void): Tokens {
  const until = new Map<string, number>();
  const alarm = createAlarm(clock, () => {
    expired();
    watch();
  });
  /** Without these rules nobody needs a token. */
  const isStrict = keyName !== undefined || lifetimeMs !== undefined;

  function watch(): void {
    const now = clock.now();
    let next: number | undefined;
    for (const [path, end] of until) {
      if (end <= now) until.delete(path);
      else if (Number.isFinite(end)) next = Math.min(next ?? end, end);
    }
    alarm.set(next);
  }

  function covers(path: string): boolean {
    if (!isStrict) return true;
    const now = clock.now();
    for (const [covered, end] of until) if (end > now && isWithin(path, covered)) return true;
    return false;
  }

  return {
    covers,
    put(path, token) {
      if (keyName !== undefined && keyNameOf(token) !== keyName) {
        throw unauthorized("InvalidSignature: the token is not one of the key that is let in.");
      }
      // What nobody asks for is not kept.
      if (!isStrict) return;
      until.set(path, clock.now() + (lifetimeMs ?? Number.POSITIVE_INFINITY));
      watch();
    },
    check(path) {
      if (!covers(path)) throw tokenExpired(path);
    },
    close: alarm.cancel,
  };
}

/** Of a SAS token, `SharedAccessSignature sr=…&sig=…&se=…&skn=…`. */
function keyNameOf(token: unknown): string | undefined {
  if (typeof token !== "string") return undefined;
  return new URLSearchParams(token.replace(/^SharedAccessSignature /, "")).get("skn") ?? undefined;
}

export function tokenExpired(path: string): ServicebusError {
  return unauthorized(`ExpiredToken: there is no token that lets this connection in to ${path}, or not any more.`);
}

function unauthorized(description: string): ServicebusError {
  return new ServicebusError("amqp:unauthorized-access", description);
}
