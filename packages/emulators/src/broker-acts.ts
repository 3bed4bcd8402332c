/**
 * What a broker may do to a message without being asked, done on request, and a look at what is there. Each act names the
 * message by the id that its sender got, and is false when the queue has none such.
 */
export interface BrokerActs {
  /** The lease, or the delay, ends now. */
  expire(messageId: string): boolean;
  /** It is delivered once more, whatever becomes of the first: another token, the same id. False where the service rules it out. */
  duplicate(messageId: string): boolean;
  /** It vanishes. */
  lose(messageId: string): boolean;
  /** It goes to the dead letters by the broker's own count, without a word to its holder. False where none are set up. */
  deadLetterByCount(messageId: string): boolean;
  /** The ids of everything that is there, in the order of arrival. */
  messageIds(): readonly string[];
  /** How many messages there are. Exact, and without a call. */
  counts(): MessageCounts;
}

export interface MessageCounts {
  /** To be received. */
  readonly visible: number;
  /** Leased. */
  readonly inFlight: number;
  /** Not yet to be seen. */
  readonly delayed: number;
}
