import type { Socket } from "node:net";
import type { Line } from "./gate.ts";
import type { AmqpConnection, AmqpLink, AmqpSession, createContainer, Frame, SendingLink } from "./rhea.ts";

/** One client's connection. */
export interface Connection extends Line {
  readonly amqp: AmqpConnection;
  /** Tells what becomes of the session of a link; answers how to forget about it. */
  watch(session: AmqpSession, watcher: SessionWatcher): () => void;
}

export interface SessionWatcher {
  /** There may be room again for what is sent on it. */
  room(): void;
  /** It is gone, and so are its links. Called once. */
  ended(): void;
}

/** What is told of a connection. */
export interface ConnectionListener {
  /** The peer wants to receive. The attach is held back until the link is opened. */
  attachReceiver(link: SendingLink): void;
  /** The peer wants to send. The attach is held back too. */
  attachSender(link: AmqpLink): void;
}

/** More than the longest message of any entity: 100 MB (SB-43). */
const LONGEST_FRAME_BYTES = 128 * 1_048_576;

export function acceptConnection(
  container: ReturnType<typeof createContainer>,
  socket: Socket,
  options: object,
  listen: (connection: Connection) => ConnectionListener,
): Connection {
  const amqp = container.create_connection(options);
  const gone = new Set<() => void>();
  const watchers = new Map<AmqpSession, Set<SessionWatcher>>();
  let isOpen = true;

  function endSession(session: AmqpSession): void {
    const ending = [...(watchers.get(session) ?? [])];
    watchers.delete(session);
    for (const watcher of ending) watcher.ended();
  }

  function end(): void {
    if (!isOpen) return;
    isOpen = false;
    for (const session of [...watchers.keys()]) endSession(session);
    for (const listener of [...gone]) listener();
    gone.clear();
  }

  const connection: Connection = {
    amqp,
    isOpen: () => isOpen,
    cut() {
      socket.destroy();
      end();
    },
    onGone(listener) {
      if (isOpen) gone.add(listener);
      else listener();
      return () => void gone.delete(listener);
    },
    watch(session, watcher) {
      const others = watchers.get(session) ?? new Set();
      watchers.set(session, others.add(watcher));
      return () => void others.delete(watcher);
    },
  };
  const listener = listen(connection);

  amqp.on("session_open", ({ session }) => {
    keepBytes(session);
    boundDispositions(session);
    const onFlow = session.on_flow;
    session.on_flow = (frame) => {
      onFlow.call(session, frame);
      for (const watcher of [...(watchers.get(session) ?? [])]) watcher.room();
    };
  });
  amqp.on("sender_open", ({ sender }) => {
    holdBack(sender);
    listener.attachReceiver(sender);
  });
  amqp.on("receiver_open", ({ receiver }) => {
    holdBack(receiver);
    listener.attachSender(receiver);
  });
  // Bytes that are no AMQP: rhea has ended its side, and nothing that comes after them can make sense.
  amqp.on("error", connection.cut);
  amqp.on("protocol_error", connection.cut);
  // rhea closes its side by itself; without listeners it would write to the console, or throw.
  amqp.on("connection_close", end);
  amqp.on("connection_error", () => {});
  amqp.on("session_error", () => {});
  amqp.on("session_close", ({ session }) => endSession(session));
  amqp.on("disconnected", end);
  amqp.accept(socket);
  // After rhea, which waits for a frame however long it says that it is.
  socket.on("data", () => {
    if ((amqp.frame_size ?? 0) > LONGEST_FRAME_BYTES) connection.cut();
  });
  socket.once("close", () => {
    end();
    // A socket that was destroyed here says nothing to rhea, whose timers would go on.
    amqp.eof();
  });
  return connection;
}

/** Opens the link only when it is told to: rhea has done so already when it tells of an attach. */
function holdBack({ state }: AmqpLink): void {
  state.local_open = false;
  state.open_requests = 0;
}

/** rhea decodes messages of the plain format and forgets their bytes, unless the format is another one. */
function keepBytes({ incoming }: AmqpSession): void {
  const onTransfer = incoming.on_transfer;
  incoming.on_transfer = (frame, link) => {
    if (frame.performative.message_format === 0) frame.performative.message_format = null;
    onTransfer.call(incoming, frame, link);
  };
}

/**
 * Keeps a disposition to deliveries that are there. rhea counts through the whole range, which is up to 4 billion wide,
 * and can take a delivery that is settled for a newer one in the same place of its buffer.
 */
function boundDispositions(session: AmqpSession): void {
  const onDisposition = session.on_disposition;
  session.on_disposition = (frame: Frame) => {
    const { performative } = frame;
    const { deliveries } = performative.role ? session.outgoing : session.incoming;
    const head = deliveries.get_head();
    const first = performative.first ?? 0;
    const lowest = Math.max(first, head?.id ?? 0);
    const highest = Math.min(performative.last ?? first, (head?.id ?? 0) + deliveries.size - 1);
    if (lowest > highest) return;
    performative.first = lowest;
    performative.last = highest;
    onDisposition.call(session, frame);
  };
}
