/** What every process of a chaos run has to agree on. */
export const SETTINGS = {
  /** Of the queue and the table. */
  name: "chaos",
  maxClockSkewMs: 400,
  /** Clocks are off by up to this, either way: less than half of the skew. */
  maxOffsetMs: 150,
  recoverAfterMs: 3_000,
} as const;

/** Configuration of an AWS client of the server at this port; the embedded servers let everybody in. */
export function awsConfigOf(port: number) {
  return {
    endpoint: `http://127.0.0.1:${port}`,
    region: "us-east-1",
    credentials: { accessKeyId: "local", secretAccessKey: "local" },
  };
}
