import type { Message, Subscription, SubscriptionOptions } from "@google-cloud/pubsub";
import type { Bench, Queue } from "./bench.ts";

export interface Listening {
  readonly subscription: Subscription;
  /** Every delivery so far. */
  readonly messages: readonly Message[];
  readonly errors: readonly (Error & { readonly code?: number })[];
}

/** Listens as its users do, with a handler that does nothing but keep what came, or this one. */
export function listen(
  bench: Bench,
  queue: Pick<Queue, "subscription">,
  options: SubscriptionOptions = {},
  handle: (message: Message) => void = () => undefined,
): Listening {
  const subscription = bench.listener(queue.subscription, options);
  const messages: Message[] = [];
  const errors: Error[] = [];
  subscription.on("error", (error) => errors.push(error));
  subscription.on("message", (message: Message) => {
    messages.push(message);
    handle(message);
  });
  return { subscription, messages, errors };
}

export const textsOf = (messages: readonly Message[]): string => messages.map(({ data }) => String(data)).join(" ");
