import { holdCarelessly } from "./careless.ts";
import type { People } from "./people.ts";
import type { Act } from "./plan.ts";
import type { Fleet } from "./workers.ts";
import { QUEUE, type World } from "./world.ts";

/** Plays one act of the plan: on a process, on a message, or by a person's hand. */
export function play(world: World, fleet: Fleet, people: People, act: Act): void {
  if (!world.injector.act(act.id, act.kind)) return;
  const { plan, broker, context } = world;
  context.log("act", act.kind, act.id);
  const host = fleet.at(act.which)?.host;
  const acts = broker.acts(QUEUE);
  const ids = acts.messageIds();
  const message = ids[Math.floor(act.which * ids.length)] ?? "";
  const stallMs = Math.round(500 + act.size * 9_000);
  switch (act.kind) {
    case "crash":
      host?.kill();
      break;
    case "pause":
      host?.pause(stallMs);
      break;
    case "suspend":
      host?.suspend(stallMs);
      break;
    case "jump":
      host?.setWallOffset(Math.round((act.size - 0.5) * plan.skewMs));
      break;
    case "deploy":
      fleet.deploy(act.which);
      break;
    case "message_lost":
      acts.lose(message);
      break;
    case "message_doubled":
      acts.duplicate(message);
      break;
    case "message_expired":
      acts.expire(message);
      break;
    case "message_buried":
      if (plan.queue.deadLetter !== "store") acts.deadLetterByCount(message);
      break;
    case "redrive_by_hand":
      broker.redriveByHand(QUEUE);
      break;
    case "person_cancels":
      people.cancel(act.which);
      break;
    case "person_reopens":
      people.reopen(act.which);
      break;
    case "person_resumes": {
      const parked = people.parked(act.which);
      if (parked !== undefined) people.resume(parked, act.size);
      break;
    }
    case "enqueued_again": {
      const task = plan.tasks[Math.floor(act.which * plan.tasks.length)];
      if (task !== undefined) people.enqueue(task);
      break;
    }
    case "careless_holder":
      void holdCarelessly(world, act);
  }
}
