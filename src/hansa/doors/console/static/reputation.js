// Recomputes the scores of a registry from its export. This is a reader of its own for the formula that `hansa_verify.reputation`
// describes: every amount is a BigInt in minor units, so no digit depends on a processor or a language.

import { Numeral, read, Unreadable } from "./canonical.js";

export const FORMULA = "hansa-reputation/2";
const ROUNDS = 8;
const HALF_LIFE_DAYS = 90;
const DAY_MILLISECONDS = 86_400_000;
const MINUTE_MILLISECONDS = 60_000;
const UNIT = 100_000_000n;
const HALF_SCORE = 5n * UNIT;
const PENALTY_FACTOR = 3n;
const PENALTY_FEE_MIN = UNIT / 2n;
const SCORE_MAX = 1000n;
const FULL_WEIGHT = 65_536n;
const LEAST_WEIGHT = FULL_WEIGHT / 4n;
const PARTS = 8n;
const FOR_PAYEE = 5n;
const FOR_PAYER = 1n;
const FOR_DEFENDANT = 1n;
const DIGITS_MAX = 4300;

// 2^32 times 2^(-day/90), rounded down, for each day of a half-life.
const DECAY = [
  4294967296n, 4262016076n, 4229317659n, 4196870107n, 4164671494n, 4132719910n, 4101013461n, 4069550266n, 4038328457n,
  4007346184n, 3976601609n, 3946092908n, 3915818271n, 3885775903n, 3855964021n, 3826380858n, 3797024658n, 3767893681n,
  3738986198n, 3710300495n, 3681834871n, 3653587636n, 3625557115n, 3597741646n, 3570139579n, 3542749276n, 3515569113n,
  3488597478n, 3461832771n, 3435273404n, 3408917801n, 3382764401n, 3356811651n, 3331058011n, 3305501955n, 3280141967n,
  3254976541n, 3230004186n, 3205223420n, 3180632774n, 3156230789n, 3132016016n, 3107987021n, 3084142378n, 3060480672n,
  3037000499n, 3013700468n, 2990579196n, 2967635312n, 2944867455n, 2922274273n, 2899854428n, 2877606589n, 2855529437n,
  2833621661n, 2811881964n, 2790309054n, 2768901653n, 2747658491n, 2726578307n, 2705659852n, 2684901884n, 2664303173n,
  2643862495n, 2623578640n, 2603450404n, 2583476593n, 2563656021n, 2543987515n, 2524469906n, 2505102037n, 2485882759n,
  2466810933n, 2447885427n, 2429105119n, 2410468894n, 2391975647n, 2373624281n, 2355413708n, 2337342848n, 2319410628n,
  2301615985n, 2283957863n, 2266435216n, 2249047003n, 2231792193n, 2214669764n, 2197678698n, 2180817989n, 2164086636n,
];
const DECAY_BITS = 32n;

const AMOUNT = /^([0-9]+)(?:\.([0-9]{1,8}))?$/;
const TIMESTAMP =
  /^([12][0-9]{3}-[0-9]{2}-[0-9]{2})T([01][0-9]|2[0-3]):([0-5][0-9]):[0-5][0-9](?:\.[0-9]{1,6})?(?:Z|([+-])([01][0-9]|2[0-3]):([0-5][0-9]))$/;

const PARTIES = {
  A2APaymentSettled: ["caller", "payee"],
  ContractCompleted: ["contractor_did", "provider_did"],
  DisputeRuled: ["complainant_did", "defendant_did"],
  CrossRegistryTransferCompleted: ["sender_did", "receiver_did"],
};
const RULINGS = { IN_FAVOR_OF_COMPLAINANT: "lost", IN_FAVOR_OF_DEFENDANT: "won", DISMISSED: null };

// The scores of an export, given as the texts of its pages, and the agents for which it states another score. Throws Unreadable.
// As of the day `at` (2027-01-31) the events before it give the scores, and `stated` is the export of that day that a reader kept; the
// code is `unverified` where no export states the scores of that day.
export function verifyExport(texts, { at = null, stated = null } = {}) {
  const whole = readWhole(texts);
  const declared = stated === null ? whole : readWhole([stated]);
  const epoch = at ?? (stated === null ? null : declared.epoch) ?? whole.epoch;
  if (epoch === null) return outcome(null, new Map(), declared.scores);
  const scores = scoresOf(whole.signals, dayOfDate(epoch));
  if (whole.epoch === null || dayOfDate(epoch) > dayOfDate(whole.epoch)) {
    return outcome(epoch, scores, scores, `the export has the events before ${whole.epoch}, not all before ${epoch}`);
  }
  if (declared.epoch !== epoch) return outcome(epoch, scores, scores, `the scores of ${epoch} are not stated: an export of that day is required`);
  return outcome(epoch, scores, declared.scores);
}

function outcome(epoch, scores, stated, unknown = null) {
  const agents = unknown === null ? [...new Set([...scores.keys(), ...stated.keys()])].sort() : [];
  const differing = agents.filter((agent) => (scores.get(agent)?.score ?? 0n) !== (stated.get(agent) ?? 0n));
  return { code: unknown !== null ? "unverified" : differing.length ? "differing" : "verified", epoch, scores, differing, unknown };
}

function readWhole(texts) {
  const pages = texts.map(readPage);
  const epoch = pages[0]?.get("epoch") ?? null;
  if (pages.some((page) => page.get("epoch") !== epoch)) throw new Unreadable("the pages are of different epochs");
  if (pages.at(-1)?.get("next") !== null) throw new Unreadable("the last page of the export is missing");
  const signals = pages.flatMap((page) => page.get("events").map(readSignal)).filter((signal) => signal);
  return { epoch, signals, scores: new Map(pages.flatMap((page) => page.get("scores").map(statedScore))) };
}

function readPage(text) {
  const page = read(text);
  const isPage = page instanceof Map && Array.isArray(page.get("events")) && Array.isArray(page.get("scores"));
  if (!isPage || !page.has("epoch") || !page.has("next")) {
    throw new Unreadable("expected an export with events, scores, epoch and next");
  }
  if (page.get("formula") !== FORMULA) throw new Unreadable(`the formula is not ${FORMULA}`);
  return page;
}

function statedScore(stated) {
  const [agent, score] = stated instanceof Map ? [stated.get("agent_did"), stated.get("score")] : [];
  if (typeof agent !== "string" || !(score instanceof Numeral) || !score.isWhole) throw new Unreadable("a score is not readable");
  return [agent, BigInt(score.text)];
}

// The signal {kind, day, giver, receiver, fee, counts} of an event as `read` gives it; null for an event that is none. Throws Unreadable.
export function readSignal(event) {
  const type = event instanceof Map ? event.get("event_type") : undefined;
  if (type === undefined || (typeof type === "object" && type !== null && !(type instanceof Numeral))) {
    throw new Unreadable("an event has no event_type");
  }
  if (typeof type !== "string" || !Object.hasOwn(PARTIES, type)) return null;
  const day = dayOfTimestamp(event.get("timestamp"));
  const data = event.get("data");
  if (type === "CrossRegistryTransferCompleted" && data instanceof Map && (data.get("counts") ?? null) === null) {
    return null; // It paid nothing that is known here, or left this registry.
  }
  const [giver, receiver] = PARTIES[type].map((name) => (data instanceof Map ? data.get(name) : undefined));
  if (giver === undefined || receiver === undefined) throw new Unreadable(`an event ${type} lacks a party`);
  const kind = type === "DisputeRuled" ? kindOfRuling(data.get("ruling")) : "payment";
  if (kind === null) return null;
  const counts = data.get("counts");
  if (typeof giver !== "string" || typeof receiver !== "string" || typeof counts !== "boolean") {
    throw new Unreadable("agents are strings, counts is true or false");
  }
  return { kind, day, giver, receiver, fee: minor(data.get("counted_fee") ?? data.get("fee")), counts };
}

function kindOfRuling(ruling) {
  if (typeof ruling !== "string" || !Object.hasOwn(RULINGS, ruling)) throw new Unreadable("a ruling is unknown");
  return RULINGS[ruling];
}

function minor(text) {
  const [, whole, fraction = ""] = (typeof text === "string" && AMOUNT.exec(text)) || [];
  const digits = whole + fraction.padEnd(8, "0");
  if (whole === undefined || digits.length > DIGITS_MAX) throw new Unreadable("a fee is no amount");
  return BigInt(digits);
}

function dayOfTimestamp(text) {
  const [, date, hours, minutes, sign, offsetHours = "0", offsetMinutes = "0"] =
    (typeof text === "string" && TIMESTAMP.exec(text)) || [];
  if (date === undefined) throw new Unreadable("an event has no timestamp with an offset");
  const offset = (Number(offsetHours) * 60 + Number(offsetMinutes)) * (sign === "-" ? -1 : 1);
  const minuteOfDay = Number(hours) * 60 + Number(minutes) - offset;
  return dayOfDate(date) + Math.floor((minuteOfDay * MINUTE_MILLISECONDS) / DAY_MILLISECONDS);
}

// The number of a UTC day since 1970-01-01, of a text such as 2026-01-31.
export function dayOfDate(text) {
  const milliseconds = /^[12][0-9]{3}-[0-9]{2}-[0-9]{2}$/.test(text) ? Date.parse(`${text}T00:00:00Z`) : NaN;
  // Some engines read 31 February as a day of March.
  if (Number.isNaN(milliseconds) || new Date(milliseconds).toISOString().slice(0, 10) !== text) {
    throw new Unreadable(`${text} is no date`);
  }
  return milliseconds / DAY_MILLISECONDS;
}

// What is left of an amount after so many days.
export function decayed(amount, ageDays) {
  const halvings = Math.floor(ageDays / HALF_LIFE_DAYS);
  return (amount * DECAY[ageDays % HALF_LIFE_DAYS]) >> (DECAY_BITS + BigInt(halvings));
}

// For each agent in a signal of an earlier day {score, grade, paid_work, payments_made, disputes_won, disputes_lost}, all but the grade BigInt.
export function scoresOf(signals, epoch) {
  const earlier = signals.filter((signal) => signal.day < epoch);
  const names = [...new Set(earlier.flatMap(({ giver, receiver }) => [giver, receiver]))];
  const numbers = new Map(names.map((name, number) => [name, number]));
  const payments = flow(earlier, "payment", numbers, epoch);
  const won = flow(earlier, "won", numbers, epoch);
  const lost = zeros(names.length);
  for (const [, defendant, penalty] of flow(earlier, "lost", numbers, epoch)) lost[defendant] += penalty;
  let scores = zeros(names.length);
  let parts = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    parts = evidence(payments, won, scores.map(weight));
    scores = lost.map((penalty, agent) => scoreOf(parts[0][agent] + parts[1][agent] + parts[2][agent], penalty));
  }
  return new Map(names.map((name, agent) => [name, shown(scores[agent], parts, lost, agent)]));
}

// [giver, receiver, amount] by the numbers of the agents. Amounts of a pair and day are added up before they decay.
function flow(signals, kind, numbers, epoch) {
  const days = new Map();
  for (const signal of signals.filter((one) => one.kind === kind)) {
    const key = `${numbers.get(signal.giver)} ${numbers.get(signal.receiver)} ${signal.day}`;
    days.set(key, (days.get(key) ?? 0n) + amountOf(signal));
  }
  const pairs = new Map();
  for (const [key, amount] of days) {
    const [giver, receiver, day] = key.split(" ");
    const pair = `${giver} ${receiver}`;
    pairs.set(pair, (pairs.get(pair) ?? 0n) + decayed(amount, epoch - Number(day)));
  }
  return [...pairs].map(([pair, amount]) => [...pair.split(" ").map(Number), amount]);
}

function amountOf({ kind, fee, counts }) {
  if (kind === "lost") return PENALTY_FACTOR * (fee > PENALTY_FEE_MIN ? fee : PENALTY_FEE_MIN);
  return counts ? fee : 0n;
}

function evidence(payments, won, weights) {
  const [work, paid, defended] = [0, 1, 2].map(() => zeros(weights.length));
  for (const [payer, payee, fee] of payments) {
    work[payee] += fee * weights[payer];
    paid[payer] += fee * weights[payee];
  }
  for (const [complainant, defendant, fee] of won) defended[defendant] += fee * weights[complainant];
  return [share(work, FOR_PAYEE), share(paid, FOR_PAYER), share(defended, FOR_DEFENDANT)];
}

function share(weighted, parts) {
  return weighted.map((amount) => (amount * parts) / (FULL_WEIGHT * PARTS));
}

function scoreOf(amount, penalty) {
  const net = amount > penalty ? amount - penalty : 0n;
  return (SCORE_MAX * net) / (amount + penalty + HALF_SCORE);
}

function weight(score) {
  return LEAST_WEIGHT + ((FULL_WEIGHT - LEAST_WEIGHT) * score) / SCORE_MAX;
}

function zeros(count) {
  return Array.from({ length: count }, () => 0n);
}

const GRADES = [[800n, "excellent"], [600n, "high"], [400n, "good"], [200n, "fair"], [1n, "initial"], [0n, "unrated"]];

function shown(score, [paidWork, paymentsMade, won], lost, agent) {
  return {
    score,
    grade: GRADES.find(([least]) => score >= least)[1],
    paid_work: paidWork[agent],
    payments_made: paymentsMade[agent],
    disputes_won: won[agent],
    disputes_lost: lost[agent],
  };
}
