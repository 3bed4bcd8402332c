/** Configuration of an AWS client: of the account that the environment names for `aws`, else of the server at that address. */
export function awsConfig(endpoint: string): {
  readonly endpoint?: string;
  readonly region?: string;
  readonly credentials?: { readonly accessKeyId: string; readonly secretAccessKey: string };
} {
  if (endpoint === "aws") return {};
  const known = process.env["AWS_ACCESS_KEY_ID"] !== undefined;
  return {
    endpoint,
    region: process.env["AWS_REGION"] ?? "us-east-1",
    ...(!known && { credentials: { accessKeyId: "local", secretAccessKey: "local" } }),
  };
}
