import type { Pace } from "../suite/run.ts";

/** For servers whose time nobody moves: nearly all of a case is waiting, so that many fit beside each other. */
export const REAL_TIME: Pace = { sideBySide: 24, apartMs: 500, watchdogMs: 300_000 };
