import { createHeap, type Heap } from "../util/heap.ts";
import type { Message } from "./message.ts";

/**
 * The messages of a queue that can be seen, in the order in which they are handed out: by sending, whether new or returned.
 *
 * Ordering keys (SQS-60 to SQS-62): of one key only those are handed out that have no hidden message before them, so that a key
 * waits behind its head while the head is leased or held back. Making the head visible opens the key, although later
 * ones may still be out. Several of one key may leave in one receive: they are hidden only once that receive is over.
 */
export interface Shelf {
  /** A new message; sent later than all before. */
  append(message: Message): void;
  /** A message that was hidden, or not here yet, can be seen. */
  show(message: Message): void;
  /** The next one to hand out. */
  next(): Message | undefined;
  /** Takes the next one off the shelf. With a key it must be hidden, or dropped, before the next receive. */
  take(): Message | undefined;
  /** A message is out and stands before the later ones of its key. */
  hide(message: Message): void;
  /** A message is gone, wherever it was. Its `state` says so already. */
  drop(message: Message): void;
}

/** Visible messages of one kind: new ones in order of arrival, returned ones in a heap. All steps are O(1) for the new ones. */
interface Lane {
  append(message: Message): void;
  putBack(message: Message): void;
  head(): Message | undefined;
  take(): Message | undefined;
  remove(message: Message): void;
}

interface Group {
  readonly key: string;
  readonly lane: Lane;
  readonly hidden: Heap<Message>;
  /** `seq` of the message it offers, as the heap of open groups knows it. */
  headSeq: number;
  index: number;
}

const bySeq = (left: Message, right: Message): boolean => left.seq < right.seq;
const orderPlace = {
  get: (message: Message) => message.orderIndex,
  set: (message: Message, index: number) => {
    message.orderIndex = index;
  },
};
const groupPlace = {
  get: (group: Group) => group.index,
  set: (group: Group, index: number) => {
    group.index = index;
  },
};

/** Empty places at the front of a list before it is worth shortening; they must also be half of it. */
const COMPACT_AFTER = 4096;

function createLane(): Lane {
  let fresh: (Message | undefined)[] = [];
  let first = 0;
  const returned = createHeap<Message>(bySeq, orderPlace);

  /** The first new one; those that vanished while they waited are passed over. */
  function freshHead(): Message | undefined {
    while (first < fresh.length && fresh[first]?.state === "gone") advance();
    return fresh[first];
  }

  function advance(): void {
    fresh[first++] = undefined;
    if (first < fresh.length && (first < COMPACT_AFTER || first * 2 < fresh.length)) return;
    fresh = fresh.slice(first);
    first = 0;
  }

  function head(): Message | undefined {
    const fromFresh = freshHead();
    const fromReturned = returned.peek();
    if (fromFresh === undefined || fromReturned === undefined) return fromFresh ?? fromReturned;
    return fromFresh.seq < fromReturned.seq ? fromFresh : fromReturned;
  }

  return {
    append: (message) => {
      fresh.push(message);
    },
    putBack: returned.push,
    head,
    take() {
      const message = head();
      if (message !== undefined && !returned.remove(message)) advance();
      return message;
    },
    remove: (message) => {
      returned.remove(message);
    },
  };
}

/** Without `ordered`, keys are carried and mean nothing. */
export function createShelf(ordered: boolean): Shelf {
  const plain = createLane();
  const groups = new Map<string, Group>();
  /** Groups whose next message can be handed out. */
  const open = createHeap<Group>((left, right) => left.headSeq < right.headSeq, groupPlace);

  function groupOf(message: Message): Group | undefined {
    const key = message.content.orderingKey;
    if (!ordered || key === undefined) return undefined;
    let group = groups.get(key);
    if (group === undefined) {
      group = { key, lane: createLane(), hidden: createHeap<Message>(bySeq, orderPlace), headSeq: 0, index: -1 };
      groups.set(key, group);
    }
    return group;
  }

  /** Brings the heap of open groups in line with what became of one of them. */
  function refresh(group: Group): void {
    const head = group.lane.head();
    const blocker = group.hidden.peek();
    const isOpen = head !== undefined && (blocker === undefined || head.seq < blocker.seq);
    if (isOpen && group.index >= 0 && group.headSeq === head.seq) return;
    open.remove(group);
    if (isOpen) {
      group.headSeq = head.seq;
      open.push(group);
    } else if (head === undefined && blocker === undefined) {
      groups.delete(group.key);
    }
  }

  function nextGroup(): Group | undefined {
    const group = open.peek();
    const head = plain.head();
    return group !== undefined && (head === undefined || group.headSeq < head.seq) ? group : undefined;
  }

  return {
    append(message) {
      const group = groupOf(message);
      if (group === undefined) {
        plain.append(message);
        return;
      }
      group.lane.append(message);
      refresh(group);
    },
    show(message) {
      const group = groupOf(message);
      if (group === undefined) {
        plain.putBack(message);
        return;
      }
      group.hidden.remove(message);
      group.lane.putBack(message);
      refresh(group);
    },
    next: () => (nextGroup()?.lane ?? plain).head(),
    take() {
      const group = nextGroup();
      if (group === undefined) return plain.take();
      const message = group.lane.take();
      refresh(group);
      return message;
    },
    hide(message) {
      const group = groupOf(message);
      if (group === undefined) {
        plain.remove(message);
        return;
      }
      group.lane.remove(message);
      group.hidden.push(message);
      refresh(group);
    },
    drop(message) {
      const group = groupOf(message);
      if (group === undefined) {
        plain.remove(message);
        return;
      }
      group.hidden.remove(message);
      group.lane.remove(message);
      refresh(group);
    },
  };
}
