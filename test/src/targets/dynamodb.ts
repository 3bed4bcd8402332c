import { storeSuites } from "../store/all.ts";
import { part, type Target } from "../suite/run.ts";
import { dynamodbStoreSource } from "./dynamodb-store.ts";

export const dynamodbTargets: readonly Target[] = [
  { name: "dynamodb", parts: [part("store", storeSuites, dynamodbStoreSource())] },
];
