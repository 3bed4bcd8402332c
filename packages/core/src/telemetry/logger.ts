/** Facts that belong to a line: names, numbers, codes. Never a payload, never a secret. */
export type LogFields = Readonly<Record<string, string | number | boolean | undefined>>;

/** Where the few lines go that are worth a person's eye. Most loggers fit after a swap of the two parameters. */
export interface Logger {
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}

/** The default: a library prints nothing that nobody asked for. */
export const silentLogger: Logger = {
  info() {},
  warn() {},
  error() {},
};
