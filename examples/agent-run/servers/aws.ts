export interface AwsConfig {
  readonly endpoint: string;
  readonly region: string;
  readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string };
}

const REGION = "us-east-1";
/** The servers let everybody in; the SDK insists on a key. */
const KEY = "local";

/** Configuration of a client of the AWS SDK. */
export function awsConfig(endpoint: string): AwsConfig {
  return { endpoint, region: REGION, credentials: { accessKeyId: KEY, secretAccessKey: KEY } };
}

/** The same as variables of an environment, without the endpoint. */
export const awsEnvironment = { AWS_REGION: REGION, AWS_ACCESS_KEY_ID: KEY, AWS_SECRET_ACCESS_KEY: KEY };
