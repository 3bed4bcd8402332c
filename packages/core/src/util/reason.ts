import { clipBytes } from "./json.ts";

/** Bytes of a claim's reason in the record. */
export const MAX_REASON_BYTES = 120;

/** A reason as it is stored: control characters and runs of white space become one space, at most 120 bytes of UTF-8. */
export function storedReason(reason: string): string {
  return clipBytes(reason.replace(/[\p{Cc}\s]+/gu, " ").trim(), MAX_REASON_BYTES);
}

/**
 * Words that say only that something goes on. A reason made of nothing else is vague: it could be said by a worker that hangs.
 * What a reason is *about* (documents, a batch, a draft) is in no list, so any such word makes it specific.
 */
const EMPTY_WORDS: ReadonlySet<string> = new Set(
  `
  a an the this that these those it its i im m we re s ll my our your you he she they them here there
  is are am be been being was were will would has have had do does did doing get getting got
  and or but so as at by in on of off for from to with up out than then
  not no yes yet now just still only almost nearly soon again already currently ever always while until
  please wait waiting waits hold holding hang hanging tight patient patience moment second sec secs seconds minute min mins minutes hour hours h ms time times bit
  run running runs ran rerunning process processes processing processed proc work works working worked worker workers handler handlers
  execute executes executing executed execution exec operate operating perform performing handle handling
  progress progressing progressed progresses ongoing underway going go goes proceed proceeding continue continues continuing continued
  keep keeps keeping keepalive alive heartbeat heartbeats heart beat beats ping pinging pong tick ticks tock pulse
  busy active idle pending loading load thinking crunching chugging sleeping sleep
  renew renews renewing renewal renewed lease leases extend extending extended extension refresh refreshing
  task tasks job jobs thing things stuff something anything everything whatever some more another other next long longer little
  done finish finishing finished complete completing completed
  step steps stage phase attempt attempts retry retrying
  start started starting starts begin beginning began make making take taking takes took expected usual
  ok okay fine good well great hello hi hey test testing todo tbd na nothing none null undefined nil unknown reason status update updates updating
  `
    .trim()
    .split(/\s+/),
);

/**
 * Is the reason vague? "still running", "heartbeat", "processing" and their kind: nothing but empty words, bare numbers,
 * elapsed times and symbols. Such a claim is recorded and buys no time.
 */
export function isVague(reason: string): boolean {
  const text = reason.normalize("NFKC").toLowerCase();
  if (/\d\s*(?:\/|of|out of)\s*\d/.test(text) || /\d\s*%/.test(text)) return false;
  const words = text.replace(/['’]/g, "").split(/[^\p{L}\p{N}]+/u);
  return words.every(isEmptyWord);
}

function isEmptyWord(word: string): boolean {
  if (EMPTY_WORDS.has(word)) return true;
  if (/^\p{N}+(?:ms|s|sec|secs|m|min|mins|h|x|st|nd|rd|th)?$/u.test(word)) return true;
  // "", "x", "zzz": no word at all.
  return /^(.?)\1*$/u.test(word) && !/^\p{Lo}+$/u.test(word);
}
