import { ServerInterceptingCall, type ServerInterceptor } from "@grpc/grpc-js";

/**
 * The library keeps the time left of a call in 32 bits, so that a deadline weeks away comes out as one in the past and ends the
 * call at once; Google's Python client publishes that way (27,000 h, with an ordering key). Such a timer is taken away. Nothing is
 * lost by it: clients keep their own deadlines.
 */
export const keepLongDeadlines: ServerInterceptor = (_method, call) => {
  if (Number(call.getDeadline()) < Date.now() && hasTimer(call)) clearTimeout(call.deadlineTimer);
  return new ServerInterceptingCall(call);
};

/** The library has no other way to reach it. */
function hasTimer(call: object): call is { readonly deadlineTimer: NodeJS.Timeout } {
  return "deadlineTimer" in call && call.deadlineTimer !== null;
}
