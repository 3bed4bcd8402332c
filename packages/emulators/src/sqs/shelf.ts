import { createLinkedList, type LinkedList, type Place } from "../linked-list.ts";
import type { Message } from "./message.ts";

/** In which order a queue hands out what is visible. Time and leases are the queue's affair. */
export interface Shelf {
  /** A message came in. */
  add(message: Message): void;
  /** A message that was hidden became visible. */
  show(message: Message): void;
  /** A message leaves the queue. */
  remove(message: Message): void;
  /**
   * Hands out up to `max` visible messages. `lease` sets the message's new state, or takes it out of the queue and
   * answers false. A message that is visible again afterwards is not handed out twice in one call.
   */
  take(max: number, lease: (message: Message) => boolean): Message[];
}

/** Standard queues: by when a message became visible. */
export function createStandardShelf(): Shelf {
  const ready = createLinkedList<Message>();

  function show(message: Message): void {
    message.place = ready.append(message);
  }

  function remove(message: Message): void {
    if (message.place === undefined) return;
    ready.remove(message.place);
    message.place = undefined;
  }

  return {
    add(message) {
      if (message.state === "visible") show(message);
    },
    show,
    remove,
    take(max, lease) {
      const taken: Message[] = [];
      for (let place = ready.first(); place !== undefined && taken.length < max; place = ready.first()) {
        const message = place.value;
        remove(message);
        if (lease(message)) taken.push(message);
      }
      // A lease of 0 s ended at once.
      for (const message of taken) if (message.state === "visible") show(message);
      return taken;
    },
  };
}

interface Group {
  readonly id: string;
  /** All its messages, whatever their state, in the order of sending. */
  readonly messages: LinkedList<Message>;
  /** Where it waits for a receiver; only when its first message is visible. */
  ready: Place<Group> | undefined;
  /** A receive is at work on it, and puts it in its place when it is through. */
  busy: boolean;
}

/**
 * FIFO queues: of each group only the visible messages before the first hidden one. This one rule is all of SQS-60
 * (while a message is in flight, later ones are not delivered), SQS-61 (one that is made visible is delivered though
 * later ones of its batch are still in flight) and SQS-62 (extending one keeps back what is behind it, not what is
 * before it). Groups take turns.
 */
export function createFifoShelf(): Shelf {
  const groups = new Map<string, Group>();
  const ready = createLinkedList<Group>();

  function groupOf(message: Message): Group {
    const id = message.content.groupId ?? "";
    let group = groups.get(id);
    if (group === undefined) {
      group = { id, messages: createLinkedList(), ready: undefined, busy: false };
      groups.set(id, group);
    }
    return group;
  }

  /** Puts a group where its first message says it belongs. */
  function refresh(group: Group): void {
    if (group.busy) return;
    const first = group.messages.first();
    if (first === undefined) groups.delete(group.id);
    if (first?.value.state === "visible") {
      group.ready ??= ready.append(group);
    } else if (group.ready !== undefined) {
      ready.remove(group.ready);
      group.ready = undefined;
    }
  }

  function takeFrom(group: Group, max: number, lease: (message: Message) => boolean, taken: Message[]): void {
    let place = group.messages.first();
    while (place?.value.state === "visible" && taken.length < max) {
      const { value: message, next } = place;
      if (lease(message)) taken.push(message);
      place = next;
    }
  }

  return {
    add(message) {
      const group = groupOf(message);
      message.place = group.messages.append(message);
      refresh(group);
    },
    show: (message) => refresh(groupOf(message)),
    remove(message) {
      if (message.place === undefined) return;
      const group = groupOf(message);
      group.messages.remove(message.place);
      message.place = undefined;
      refresh(group);
    },
    take(max, lease) {
      const taken: Message[] = [];
      const touched: Group[] = [];
      for (let place = ready.first(); place !== undefined && taken.length < max; place = ready.first()) {
        const group = place.value;
        ready.remove(place);
        group.ready = undefined;
        group.busy = true;
        takeFrom(group, max, lease, taken);
        touched.push(group);
      }
      for (const group of touched) {
        group.busy = false;
        refresh(group);
      }
      return taken;
    },
  };
}
