/** What a run costs, about, before it starts. */
export interface Estimate {
  readonly target: string;
  readonly calls: number;
  /** US dollars; absent where no price is known here. */
  readonly usd?: number;
}

/**
 * Calls of one case: twice what was counted on a server elsewhere, which is 19 for a case of the queue and 35 for one of the store.
 * It is no bound, and near enough to tell cents from dollars.
 */
const CALLS = { queue: 40, store: 70 } as const;

/**
 * US dollars for a million calls. SQS: third-party price pages (SQS-90). Service Bus: one weak source, beyond what a month includes
 * (SB-70). Pub/Sub: 1,000 bytes for each, as if every call moved a message (PS-51). DynamoDB: none is known here.
 */
const USD_PER_MILLION: Readonly<Record<string, number>> = {
  sqs: 0.4,
  "sqs/fifo": 0.5,
  pubsub: (1_000 * 1_000_000 * 40) / 1_024 ** 4,
  servicebus: 0.8,
};

/** The estimate for one target, by the cases that it has. */
export function estimateOf(target: string, part: keyof typeof CALLS, cases: number): Estimate {
  const calls = cases * CALLS[part];
  const price = USD_PER_MILLION[target] ?? USD_PER_MILLION[target.split("/")[0] ?? ""];
  return { target, calls, ...(price !== undefined && { usd: (calls * price) / 1_000_000 }) };
}

/** A line for each target, and one for all. */
export function estimateLines(estimates: readonly Estimate[]): readonly string[] {
  const lines = estimates.map(({ target, calls, usd }) => {
    const price = usd === undefined ? "see the vendor's price page" : `about $${usd.toFixed(4)}`;
    return `  ${target}: some ${calls.toLocaleString("en")} calls, ${price}`;
  });
  const sum = estimates.reduce((total, { usd = 0 }) => total + usd, 0);
  return [...lines, `  in all: about $${sum.toFixed(2)} by third-party prices, without what has none here`];
}
