import { randomUUID } from "node:crypto";
import type { Reply, Request, Service } from "../http/front.ts";
import type { Broker } from "./broker.ts";
import { ACCOUNT_ID } from "./broker.ts";
import { SqsError, wireError } from "./errors.ts";
import { createMoveTasks } from "./move-tasks.ts";
import { checkedInput } from "./operations/input.ts";
import { messageOperations } from "./operations/messages.ts";
import { moveOperations } from "./operations/moves.ts";
import type { Operations } from "./operations/operation.ts";
import { queueOperations } from "./operations/queues.ts";

export interface SqsServiceOptions {
  /** Where the server listens; known once it does. */
  readonly endpoint: () => string;
  /** Leave out `x-amzn-query-error`, as some servers do (SQS-21). */
  readonly omitQueryError: boolean;
}

const TARGET = /^AmazonSQS\.[A-Za-z]+$/;

/** AWS JSON 1.0 over the broker: reads calls, says errors as the service does. */
export function createSqsService(broker: Broker, options: SqsServiceOptions): Service {
  const tasks = createMoveTasks(broker);
  const operations: Operations = {
    ...queueOperations(broker, (name) => `${options.endpoint()}/${ACCOUNT_ID}/${name}`),
    ...messageOperations(broker),
    ...moveOperations(tasks),
  };

  function reply(status: number, output: object, headers: Readonly<Record<string, string>> = {}): Reply {
    return {
      status,
      headers: { "content-type": "application/x-amz-json-1.0", "x-amzn-requestid": randomUUID(), ...headers },
      body: JSON.stringify(output),
    };
  }

  function renderError(code: string, message: string, wantedStatus?: number): Reply {
    const { type, queryCode, status, senderFault } = wireError(code, wantedStatus);
    const header = { "x-amzn-query-error": `${queryCode};${senderFault ? "Sender" : "Receiver"}` };
    return reply(status, { __type: type, message }, options.omitQueryError ? {} : header);
  }

  function run(request: Request): object | Promise<object> {
    const target = request.headers["x-amz-target"];
    const operation = typeof target === "string" && TARGET.test(target) ? operations[request.operation] : undefined;
    if (operation === undefined) {
      throw new SqsError(
        "UnknownOperationException",
        `There is no operation ${JSON.stringify(request.operation)} here: send one as AWS JSON 1.0, in the header x-amz-target.`,
      );
    }
    if (request.input === undefined) throw new SqsError("SerializationException", "The body is no JSON object.");
    return operation(checkedInput(request.input), request);
  }

  return {
    async handle(request) {
      try {
        return reply(200, await run(request));
      } catch (error) {
        if (error instanceof SqsError) return renderError(error.code, error.message);
        throw error;
      }
    },
    entries(operation, input) {
      const entries = operation.endsWith("Batch") ? input()?.["Entries"] : undefined;
      return Array.isArray(entries) ? entries.length : 1;
    },
    refuseKey: () => renderError("InvalidClientTokenId", "The security token included in the request is invalid."),
    renderError: ({ code, message, status }) =>
      renderError(code, message ?? `${code}: a fault that was asked for`, status),
    close() {
      tasks.close();
      broker.close();
    },
  };
}
