import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  ChangeMessageVisibilityBatchCommand,
  DeleteMessageBatchCommand,
  SendMessageBatchCommand,
  type SendMessageBatchRequestEntry,
} from "@aws-sdk/client-sqs";
import { openSqs } from "../testing/sqs.ts";

const MEBIBYTE = 1_048_576;

describe("batches, sizes, characters", () => {
  it("SQS-40: a delete batch tells of each entry by itself", async (test) => {
    const { queue, client } = await openSqs(test);
    const { send, one, url, receive } = queue();
    await send("a");
    const { ReceiptHandle } = await one({ VisibilityTimeout: 0 });
    const { Successful, Failed } = await client.send(
      new DeleteMessageBatchCommand({
        QueueUrl: url,
        Entries: [
          { Id: "good", ReceiptHandle },
          { Id: "bad", ReceiptHandle: "garbage" },
        ],
      }),
    );
    assert.deepEqual(Successful, [{ Id: "good" }]);
    assert.deepEqual(
      Failed?.map(({ Id, Code, SenderFault }) => ({ Id, Code, SenderFault })),
      [{ Id: "bad", Code: "ReceiptHandleIsInvalid", SenderFault: true }],
    );
    assert.deepEqual(await receive(), []);
  });

  it("SQS-40: so does a change of visibility", async (test) => {
    const { queue, client } = await openSqs(test);
    const { send, receive, remove, url, one } = queue();
    for (const body of ["a", "b", "c"]) await send(body);
    const [first, second, third] = await receive({ MaxNumberOfMessages: 10 });
    await remove(second?.ReceiptHandle);
    const entry = (Id: string, ReceiptHandle: string | undefined, VisibilityTimeout: number) => ({
      Id,
      ReceiptHandle,
      VisibilityTimeout,
    });
    const { Successful, Failed } = await client.send(
      new ChangeMessageVisibilityBatchCommand({
        QueueUrl: url,
        Entries: [
          entry("released", first?.ReceiptHandle, 0),
          entry("deleted", second?.ReceiptHandle, 10),
          entry("too-long", third?.ReceiptHandle, 43_201),
        ],
      }),
    );
    assert.deepEqual(Successful, [{ Id: "released" }]);
    assert.deepEqual(
      Failed?.map(({ Id, Code }) => [Id, Code]),
      [
        ["deleted", "InvalidParameterValue"],
        ["too-long", "InvalidParameterValue"],
      ],
    );
    assert.equal((await one()).Body, "a");
  });

  it("SQS-40, SQS-44: so does a send; a refused entry costs no other one", async (test) => {
    const { queue, client } = await openSqs(test);
    const { url, bodies } = queue({ MaximumMessageSize: "1024" });
    const { Successful, Failed } = await client.send(
      new SendMessageBatchCommand({
        QueueUrl: url,
        Entries: [
          { Id: "good", MessageBody: "a" },
          { Id: "character", MessageBody: "\u0001" },
          { Id: "size", MessageBody: "x".repeat(1_025) },
          { Id: "delay", MessageBody: "b", DelaySeconds: 901 },
          { Id: "also-good", MessageBody: "c" },
        ],
      }),
    );
    assert.deepEqual(
      Successful?.map(({ Id }) => Id),
      ["good", "also-good"],
    );
    assert.deepEqual(
      Failed?.map(({ Id, Code }) => [Id, Code]),
      [
        ["character", "InvalidMessageContents"],
        ["size", "InvalidParameterValue"],
        ["delay", "InvalidParameterValue"],
      ],
    );
    assert.deepEqual(await bodies({ MaxNumberOfMessages: 10 }), ["a", "c"]);
  });

  it("SQS-41: what makes a whole batch fail", async (test) => {
    const { queue, client } = await openSqs(test);
    const { url, receive } = queue();
    const send = (...Entries: SendMessageBatchRequestEntry[]) =>
      client.send(new SendMessageBatchCommand({ QueueUrl: url, Entries }));
    const entry = (Id: string, MessageBody = "a"): SendMessageBatchRequestEntry => ({ Id, MessageBody });
    await assert.rejects(send(), { name: "EmptyBatchRequest" });
    const eleven = Array.from({ length: 11 }, (_, index) => entry(`id-${index}`));
    await assert.rejects(send(...eleven), { name: "TooManyEntriesInBatchRequest" });
    await assert.rejects(send(entry("a"), entry("a")), { name: "BatchEntryIdsNotDistinct" });
    for (const id of ["a:b", "", "x".repeat(81)])
      await assert.rejects(send(entry(id)), { name: "InvalidBatchEntryId" });
    const half = "x".repeat(MEBIBYTE / 2);
    await assert.rejects(send(entry("a", half), entry("b", `${half}x`)), {
      name: "BatchRequestTooLong",
      message: /1048577/,
    });
    assert.deepEqual(await receive(), []);
    await send(entry("a", half), entry("b", half));
  });

  it("SQS-41: a message can be twice in one receive", async (test) => {
    const { queue, sqs } = await openSqs(test);
    const { send, receive, url } = queue();
    const id = await send("a");
    assert.ok(sqs.acts(url).duplicate(id));
    const messages = await receive({ MaxNumberOfMessages: 10 });
    assert.deepEqual(
      messages.map((message) => message.MessageId),
      [id, id],
    );
    assert.notEqual(messages[0]?.ReceiptHandle, messages[1]?.ReceiptHandle);
  });

  it("SQS-42: one message unless more are asked for, ten at most", async (test) => {
    const { queue } = await openSqs(test);
    const { send, receive } = queue();
    for (let index = 0; index < 12; index++) await send(String(index));
    assert.equal((await receive()).length, 1);
    assert.equal((await receive({ MaxNumberOfMessages: 10 })).length, 10);
    for (const MaxNumberOfMessages of [0, 11]) {
      await assert.rejects(receive({ MaxNumberOfMessages }), { name: "InvalidParameterValue" });
    }
    await assert.rejects(receive({ WaitTimeSeconds: 21 }), { name: "InvalidParameterValue" });
  });

  it("SQS-43: 1 MiB, attributes included", async (test) => {
    const { queue } = await openSqs(test);
    const { send, one, attribute } = queue();
    assert.equal(await attribute("MaximumMessageSize"), String(MEBIBYTE));
    const MessageAttributes = { k: { DataType: "String", StringValue: "é" } };
    const rest = MEBIBYTE - "kString".length - 2;
    await assert.rejects(send("a".repeat(rest + 1), { MessageAttributes }), {
      name: "InvalidParameterValue",
      message: /shorter than 1048576 bytes/,
    });
    await send("a".repeat(rest), { MessageAttributes });
    assert.equal((await one()).Body?.length, rest);
  });

  it("SQS-43: an older queue may be pinned at 262144", async (test) => {
    const { queue } = await openSqs(test);
    const { send, attribute } = queue({ MaximumMessageSize: "262144" });
    assert.equal(await attribute("MaximumMessageSize"), "262144");
    await send("a".repeat(262_144));
    await assert.rejects(send("a".repeat(262_145)), { name: "InvalidParameterValue" });
  });

  it("SQS-44: which characters are carried", async (test) => {
    const { queue } = await openSqs(test);
    const { send, one } = queue();
    const carried = "\t\n\r \u007f\u0085é\ud7ff\ue000\ufffd😀\u{10ffff}";
    await send(carried, { MessageAttributes: { a: { DataType: "String", StringValue: carried } } });
    const { Body, MessageAttributes } = await one({ MessageAttributeNames: ["All"] });
    assert.deepEqual([Body, MessageAttributes?.["a"]?.StringValue], [carried, carried]);
    for (const refused of ["\u0000", "\u0008", "\u000b", "\u001f", "\ufffe", "\uffff"]) {
      await assert.rejects(send(`a${refused}`), { name: "InvalidMessageContents" }, JSON.stringify(refused));
      const MessageAttributes = { a: { DataType: "String", StringValue: refused } };
      await assert.rejects(send("a", { MessageAttributes }), { name: "InvalidMessageContents" });
    }
  });

  it("SQS-44: nothing empty", async (test) => {
    const { queue } = await openSqs(test);
    const { send } = queue();
    await assert.rejects(send(""), { name: "MissingParameter" });
    const MessageAttributes = { a: { DataType: "String", StringValue: "" } };
    await assert.rejects(send("a", { MessageAttributes }), { name: "InvalidParameterValue", message: /non-empty/ });
  });

  it("SQS-45: ten attributes; the trace header is none of them and has no size", async (test) => {
    const { queue } = await openSqs(test);
    const { send, one } = queue({ MaximumMessageSize: "1024" });
    const attributes = (count: number) =>
      Object.fromEntries(
        Array.from({ length: count }, (_, index) => [`a${index}`, { DataType: "Number", StringValue: "1" }]),
      );
    await assert.rejects(send("a", { MessageAttributes: attributes(11) }), { name: "InvalidParameterValue" });
    const size = 10 * "a0Number1".length;
    const traceHeader = "Root=1-5759e988-bd862e3fe1be46a994272793";
    await send("x".repeat(1_024 - size), {
      MessageAttributes: attributes(10),
      MessageSystemAttributes: { AWSTraceHeader: { DataType: "String", StringValue: traceHeader } },
    });
    const { Attributes } = await one({ MessageSystemAttributeNames: ["AWSTraceHeader"] });
    assert.deepEqual(Attributes, { AWSTraceHeader: traceHeader });
  });

  it("refuses attributes that no SDK should send", async (test) => {
    const { queue } = await openSqs(test);
    const { send } = queue();
    const value = { DataType: "String", StringValue: "v" };
    for (const name of ["aWs.x", "AMAZON.x", ".x", "x.", "x..y", "a!b", "L".repeat(257)]) {
      await assert.rejects(
        send("a", { MessageAttributes: { [name]: value } }),
        { name: "InvalidParameterValue" },
        name,
      );
    }
    for (const wrong of [
      { DataType: "Text", StringValue: "v" },
      { DataType: "Number", StringValue: "v" },
      { DataType: "Binary", StringValue: "v" },
    ]) {
      await assert.rejects(send("a", { MessageAttributes: { a: wrong } }), { name: "InvalidParameterValue" });
    }
    await send("a", { MessageAttributes: { "attr.1øß": { DataType: "String.custom", StringValue: "v" } } });
  });

  it("gives the attributes that were asked for, with digests that the client can check", async (test) => {
    const { queue } = await openSqs(test);
    const { send, one } = queue();
    const MessageAttributes = {
      "app.text": { DataType: "String", StringValue: "é" },
      "app.bytes": { DataType: "Binary", BinaryValue: new Uint8Array([0, 1, 255]) },
      number: { DataType: "Number", StringValue: "1.5" },
    };
    // The client compares the digests of what it sent.
    await send("a", { MessageAttributes });
    const again = { VisibilityTimeout: 0 };
    assert.equal((await one(again)).MessageAttributes, undefined);
    assert.deepEqual((await one({ ...again, MessageAttributeNames: ["All"] })).MessageAttributes, MessageAttributes);
    const { MessageAttributes: some } = await one({ ...again, MessageAttributeNames: ["app.*", "none"] });
    assert.deepEqual(Object.keys(some ?? {}).sort(), ["app.bytes", "app.text"]);
    assert.equal((await one(again)).Attributes, undefined);
  });
});
