/** The text of whatever was thrown. Never throws itself: a message may be no text, a getter may throw. */
export function errorText(error: unknown): string {
  try {
    if (typeof error === "object" && error !== null) {
      const { message, name } = error as { readonly message?: unknown; readonly name?: unknown };
      if (typeof message === "string" && message !== "") return message;
      if (typeof name === "string" && name !== "") return name;
    }
    return String(error);
  } catch {
    return "an error without a text";
  }
}
