import type { Client, ClientOptions, Worker, WorkerOptions } from "@leasehold/core";
import type {
  Clock,
  Delivery,
  ItemStore,
  LeaseholdError,
  QueueDriver,
  TaskRecord,
  TaskStore,
} from "@leasehold/core/driver";
import type { Harness } from "../suite/case.ts";
import type { ExternalSystem } from "./system.ts";

/** What a target offers to the lifecycle cases: worlds of a queue, a store, an external system and played processes. */
export interface LifecycleHarness extends Harness {
  /** A world of its own, so that cases do not meet. */
  open(wishes?: WorldWishes): Promise<World>;
  /** What this target cannot be made to do, each with the reason. */
  readonly cannot: Readonly<Partial<Record<Ability, string>>>;
}

export type Ability =
  | BrokerAct
  | "ordering"
  | "total lease"
  | "short delay"
  | "short retention"
  | "stop the broker"
  | "count deliveries"
  /** It says how many messages can be received. */
  | "count visible"
  /** It answers an extend or a settle of a lease that is gone as such. */
  | "tell a lost lease"
  | "delay an abandon"
  | "many tasks";

/** What a broker may do to the messages of a task by itself. */
export type BrokerAct =
  /** A lease or a delay ends now. */
  | "expire"
  /** It is delivered once more, whatever becomes of the first. */
  | "duplicate"
  /** It vanishes. */
  | "lose"
  /** It goes to the dead letters by the broker's own count. */
  | "dead-letter by count"
  /** All dead letters go back, marks and all, as an operator's console does it. */
  | "redrive by hand";

export interface WorldWishes {
  /** The longest total hold of a message that the broker allows, ms. */
  readonly totalLeaseMs?: number;
  /** The longest delay that the broker holds a message for, sent or abandoned, ms. */
  readonly maxDelayMs?: number;
  /** Age at which a message that nobody holds vanishes, ms. */
  readonly keepMs?: number;
}

/** How long things take in this world: realistic where time is free, short where it is real. */
export interface Timing {
  readonly leaseMs: number;
  readonly recoverAfterMs: number;
  readonly maxClockSkewMs: number;
  readonly backoff: { readonly base: number; readonly cap: number };
}

export interface World {
  readonly timing: Timing;
  readonly system: ExternalSystem;
  /** An observer's handles: no faults, counted nowhere. */
  readonly store: TaskStore;
  readonly queue: QueueDriver;
  /** The items themselves, to break a record as no worker would. */
  readonly items: ItemStore;
  readonly broker: BrokerControls;
  /** The true time, ms. */
  now(): number;
  /** Lets this much time pass. */
  wait(ms: number): Promise<void>;
  /** Awaits what takes time by the target's clock: a promise, or that a condition holds, which is asked again and again. */
  until<T>(what: Promise<T>): Promise<T>;
  until(condition: () => boolean | Promise<boolean>, options?: Patience): Promise<void>;
  /** A process with a client. */
  client(options?: ProcessOptions & Partial<ClientOptions>): PlayedClient;
  /** A process with a worker, which runs until it is stopped or crashes. */
  worker(name: string, options: PlayedWorkerOptions): PlayedWorker;
  /** The record, which must be there. */
  record(taskId: string): Promise<TaskRecord>;
  /** Awaits that the record is as it should be, and answers it. */
  reaches(
    taskId: string,
    is: TaskRecord["status"] | ((record: TaskRecord) => boolean),
    options?: Patience,
  ): Promise<TaskRecord>;
}

export interface Patience {
  /** Default: 6 hours by the target's clock. */
  readonly withinMs?: number;
}

export interface ProcessOptions {
  /** Faults from the first call on. */
  readonly faults?: readonly FaultRule[];
  /** How far the wall clock is ahead, ms. Need: `time`. */
  readonly wallOffsetMs?: number;
}

export interface PlayedWorkerOptions extends ProcessOptions, Partial<Omit<WorkerOptions, "tasks" | "clock">> {
  readonly tasks: WorkerOptions["tasks"];
  /** Default true. False: only `handle` and `recoverOnce` are called. */
  readonly runs?: boolean;
}

/** A call that a process makes. `queue.send`, `queue.receive`, `queue.extend`, `queue.complete`, `queue.abandon`, `queue.dead-letter`; `store.<verb>`. */
export interface Call {
  readonly name: string;
  /** Of a store call: what it asks of the items. A verb may ask several things. */
  readonly operation?: "get" | "put" | "update" | "query";
  /** Of a store call: the key of the item. */
  readonly key?: string;
  readonly args: readonly unknown[];
}

/** What happens to a call. Nothing named: it passes. */
export interface Fault {
  readonly delayMs?: number;
  readonly error?: LeaseholdError;
  /** `before`: the request is lost. `after`: it is applied, and the answer is lost. Both throw `Unavailable`. */
  readonly drop?: "before" | "after";
  /** It never ends: applied or not. */
  readonly hang?: "before" | "after";
  /** The answer is under way this long, ms. */
  readonly answerDelayMs?: number;
  /** The process dies: before the request leaves, or after it was applied. Nothing of it has effect afterwards. */
  readonly crash?: "before" | "after";
}

export interface FaultRule {
  /** A call's name, or its beginning up to a dot: `store.` is every call to the store. With a key: `store.create payload`. */
  readonly on: string;
  readonly fault: Fault;
  /** Calls of this name to let pass first. Default 0. */
  readonly skip?: number;
  /** How many calls it happens to. Default 1. */
  readonly times?: number;
}

export interface PlayedProcess {
  readonly clock: Clock;
  /** Every call that left this process, in order. */
  readonly calls: readonly Call[];
  /** Need: `faults`. */
  fault(on: string, fault: Fault, options?: Pick<FaultRule, "skip" | "times">): void;
  /** The faults are over. */
  heal(): void;
  /** It dies: nothing of it has effect afterwards. Need: `faults`. */
  crash(): void;
  readonly dead: boolean;
  /** Need: `time`. */
  readonly time: TimeControls;
}

/** What can happen to a process in time. */
export interface TimeControls {
  /** It stands still: its timers do not fire. */
  pause(): void;
  /** It goes on: late timers fire in one burst. */
  resume(): void;
  /** Its wall clock jumps. */
  jumpWall(ms: number): void;
  /** The machine sleeps: wall time goes on, monotonic time and timers stand still. */
  suspendMonotonic(ms: number): void;
}

export interface PlayedClient extends PlayedProcess {
  readonly client: Client;
}

export interface PlayedWorker extends PlayedProcess {
  readonly name: string;
  readonly worker: Worker;
  /** What it has received. */
  readonly deliveries: readonly Delivery[];
  /** The log's warnings and errors. */
  readonly log: readonly string[];
  /** The end of `run`. */
  readonly running: Promise<void>;
  /** Stops it in order, and awaits that. */
  stop(): Promise<void>;
}

export interface BrokerControls {
  /** Makes the broker do something to every message of a task, or to every message there is. Throws when there is none. */
  act(act: Exclude<BrokerAct, "redrive by hand">, taskId?: string): Promise<void>;
  redriveByHand(): Promise<number>;
  /** Messages that are there: to be received, held by somebody, put away for later, dead-lettered. */
  counts(): Promise<MessageCounts>;
  /** Need: `restart`. Every call fails until `start`. */
  stop(): Promise<void>;
  start(): Promise<void>;
}

export interface MessageCounts {
  readonly visible: number;
  readonly leased: number;
  readonly delayed: number;
  readonly deadLetters: number;
}
