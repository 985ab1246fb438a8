// What an owner wrote, without what hides, turns or piles up: as the server leaves it out of the pages that it writes.

const NOTHING_TO_SEE = "(nothing that can be seen)";
// A joiner that stands beside a plain letter, another joiner or an end.
const JOINERS_THAT_HIDE = /(?<=^|[\0-\x7f\u200c\u200d])[\u200c\u200d]|[\u200c\u200d](?=$|[\0-\x7f\u200c\u200d])/u;
const UNSEEN = /(?![\n\t\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}]/u;
const FILLERS = /[\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0]/u;
const LEFT_OUT = new RegExp([JOINERS_THAT_HIDE, UNSEEN, FILLERS].map((kind) => kind.source).join("|"), "gu");
const PILES = /([\p{Mn}\p{Me}]{4})[\p{Mn}\p{Me}]+/gu;

export function seen(text) {
  return text.replace(LEFT_OUT, "").replace(PILES, "$1");
}

export function legible(text) {
  return seen(text).trim() || NOTHING_TO_SEE;
}
