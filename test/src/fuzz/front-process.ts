/** A front in a process of its own, so that a crash is seen as one and its memory is nobody else's. Ends with its parent. */
import { fronts } from "./fronts.ts";

const name = process.argv[2] ?? "";
const front = fronts[name];
const collectGarbage = globalThis.gc;
if (front === undefined || collectGarbage === undefined)
  throw new Error(`front-process: no front ${name}, or no --expose-gc`);
const server = await front.start();
process.on("disconnect", () => process.exit(0));
process.on("message", () => {
  collectGarbage();
  process.send?.({ heapUsed: process.memoryUsage().heapUsed, handles: process.getActiveResourcesInfo().length });
});
process.send?.({ port: Number(/:(\d+)$/.exec(server.endpoint)?.[1]) });
