/**
 * Why no container can be started on this machine, in one sentence; `undefined`: they can. `find` throws when there is no engine.
 */
export async function engineProblem(find: () => Promise<unknown>): Promise<string | undefined> {
  try {
    await find();
    return undefined;
  } catch (error) {
    const [reason = ""] = (error as Error).message.split("\n");
    return `Not run: the containers need a Docker engine (${reason.trim()}).`;
  }
}
