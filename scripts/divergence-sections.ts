import { referenceClients } from "../test/src/reference/clients.ts";
import { referenceServers } from "../test/src/reference/servers.ts";
import { googleDifferences } from "../test/src/servers/pubsub/google-differences.ts";
import { differences, orderDifferences } from "../test/src/targets/pubsub-google-differences.ts";
import { markdownTable, type Sections } from "./generated-sections.ts";

const link = (text: string, url: string) => `[${text}](${url})`;

const divergences = referenceServers.flatMap(({ name, targets, divergences: all }) =>
  all
    .filter((one) => one.targets.some((target) => targets.includes(target)))
    .map((one) => [
      one.case,
      `${name}: ${one.targets.filter((target) => targets.includes(target)).join(", ")}`,
      `${one.does}${one.sometimes === true ? " (depends on who comes first)" : ""}`,
      one.service,
      link("source", one.source),
    ]),
);

const google = [
  ...Object.entries(differences).map(([name, one]) => ({ name, ...one, where: "every subscription" })),
  ...Object.entries(orderDifferences).map(([name, one]) => ({ name, ...one, where: "with ordering" })),
];

/** The tables of docs/divergence.md. */
export const divergenceSections: Sections = {
  servers: markdownTable(
    ["server", "what it is", "targets"],
    referenceServers.map(({ name, what, targets }) => [`\`${name}\``, what, targets.join(", ")]),
  ),
  clients: markdownTable(
    ["client", "what it is"],
    referenceClients.map(({ name, what }) => [`\`${name}\``, what]),
  ),
  divergences: markdownTable(
    ["case", "server: targets", "what it does", "what the service does", "source"],
    divergences,
  ),
  google: markdownTable(
    ["case, which holds on the service", "where", "what the emulator does", "source"],
    google.map(({ name, where, reason, link: url }) => [name, where, reason, link("source", url)]),
  ),
  "google-checks": markdownTable(
    ["what the service does, with its fact or page", "what the emulator does"],
    Object.entries(googleDifferences).map(([name, does]) => [name, does]),
  ),
};
