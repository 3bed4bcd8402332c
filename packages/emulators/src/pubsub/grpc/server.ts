import { createServer, type Socket } from "node:net";
import { Server, ServerCredentials } from "@grpc/grpc-js";
import { createCallBook } from "../../calls.ts";
import { steadyClock } from "../../clock.ts";
import { createFaultPlan } from "../../faults.ts";
import { openPort } from "../../port.ts";
import type { Emulator, EmulatorOptions } from "../../shape.ts";
import type { Broker } from "../broker/broker.ts";
import { services } from "./descriptors.ts";
import { createGate } from "./gate.ts";
import { keepLongDeadlines } from "./long-deadlines.ts";
import { publisherService } from "./publisher.ts";
import { subscriberService } from "./subscriber.ts";

/** The gRPC front of a broker on 127.0.0.1. Sockets are ours, so that connections can be cut and the port closed and opened again. */
export async function startGrpc(broker: Broker, options: EmulatorOptions): Promise<Emulator> {
  const calls = createCallBook();
  const faults = createFaultPlan(options.faults ?? [], options.latencyMs ?? 0);
  const sockets = new Map<string, Socket>();
  const { accessKeyId, onCall, clock = steadyClock } = options;
  const gate = createGate({
    clock,
    calls,
    faults,
    cut(peer) {
      const socket = sockets.get(peer);
      // Node keeps a socket for good that is reset while it says goodbye.
      if (socket?.writableEnded === true) socket.destroy();
      else socket?.resetAndDestroy();
    },
    ...(accessKeyId !== undefined && { accessKeyId }),
    ...(onCall !== undefined && { onCall }),
  });
  const server = new Server({
    "grpc.max_receive_message_length": -1,
    "grpc.max_send_message_length": -1,
    interceptors: [keepLongDeadlines],
  });
  server.addService(services().publisher, publisherService(broker, gate));
  server.addService(services().subscriber, subscriberService(broker, gate));
  const injector = server.createConnectionInjector(ServerCredentials.createInsecure());

  const listener = createServer((socket) => {
    const peer = `${socket.remoteAddress}:${socket.remotePort}`;
    sockets.set(peer, socket);
    socket.setNoDelay(true);
    // A client that breaks off is no error of the server's.
    socket.on("error", () => socket.destroy());
    socket.on("close", () => sockets.delete(peer));
    injector.injectConnection(socket);
  });

  const port = await openPort(listener, options.port ?? 0, () => {
    for (const socket of sockets.values()) socket.destroy();
  });
  return {
    endpoint: `127.0.0.1:${port.number}`,
    calls,
    faults,
    pause: port.pause,
    resume: port.resume,
    async stop() {
      broker.close();
      await port.stop();
      injector.destroy();
      server.forceShutdown();
    },
  };
}
