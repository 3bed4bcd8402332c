import type {
  ServiceBusClient,
  ServiceBusReceiver,
  ServiceBusReceiverOptions,
  ServiceBusSender,
  ServiceBusSessionReceiver,
} from "@azure/service-bus";
import type { EntityNames } from "./names.ts";

/** What one client can open of one entity. Nothing is called before it is used. */
export interface EntityLinks {
  receiver(of?: "messages" | "dead letters"): ServiceBusReceiver;
  sender(): ServiceBusSender;
  /** Waits for a session that has something, as long as a call of this client may take. */
  acceptNext(signal: AbortSignal): Promise<ServiceBusSessionReceiver>;
  accept(sessionId: string, signal?: AbortSignal): Promise<ServiceBusSessionReceiver>;
}

/** Locks are renewed by core (SB-09), and bodies are text that is ours to read (SB-42). */
const FIXED = { maxAutoLockRenewalDurationInMs: 0, skipParsingBodyAsJson: true } as const;

export function linksOf(client: ServiceBusClient, { target, subscription }: EntityNames): EntityLinks {
  return {
    receiver(of = "messages") {
      // The SDK writes into the options it is given.
      const options: ServiceBusReceiverOptions = {
        ...FIXED,
        ...(of === "dead letters" && { subQueueType: "deadLetter" }),
      };
      return subscription === undefined
        ? client.createReceiver(target, options)
        : client.createReceiver(target, subscription, options);
    },
    sender: () => client.createSender(target),
    acceptNext: (abortSignal) =>
      subscription === undefined
        ? client.acceptNextSession(target, { ...FIXED, abortSignal })
        : client.acceptNextSession(target, subscription, { ...FIXED, abortSignal }),
    accept: (sessionId, signal) =>
      subscription === undefined
        ? client.acceptSession(target, sessionId, { ...FIXED, ...ending(signal) })
        : client.acceptSession(target, subscription, sessionId, { ...FIXED, ...ending(signal) }),
  };
}

function ending(abortSignal: AbortSignal | undefined): { readonly abortSignal?: AbortSignal } {
  return abortSignal === undefined ? {} : { abortSignal };
}
