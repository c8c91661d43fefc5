// One result as a card.

const HUES = 8;
const SURE = [[0.9, "very likely"], [0.7, "likely"], [0.45, "possible"], [0, "uncertain"]];
// Members that the card shows elsewhere, not among the details.
const SHOWN_ELSEWHERE = new Set(["sources", "profile_url", "avatar_url", "avatar"]);

function sureness(confidence) {
  return SURE.find(([least]) => confidence >= least)[1];
}

function hueOf(name) {
  let hash = 0;
  for (const character of name) hash = (hash * 31 + character.codePointAt(0)) % 9973;
  return hash % HUES;
}

function platformOf(record) {
  return plain(record.platform ?? record.source);
}

// The thumbnail that the service keeps, or a letter on a colour. No other site is asked for an image.
function face(record, thumbnails) {
  const name = platformOf(record);
  const letter = (name.match(/[\p{L}\p{N}]/u) ?? ["?"])[0].toUpperCase();
  const made = element("span", { class: `face hue-${hueOf(name)}`, "aria-hidden": "true" }, letter);
  if (record.metadata.avatar?.sha256) made.replaceChildren(picture(thumbnails + record.id, letter));
  return made;
}

function picture(address, letter) {
  const image = element("img", { alt: "", loading: "lazy", decoding: "async" });
  image.addEventListener("error", () => image.replaceWith(letter));
  image.src = address;
  return image;
}

function firstOf(value) {
  return Array.isArray(value) ? value[0] : value;
}

function percentOf(record) {
  return Math.round(Math.min(1, Math.max(0, record.confidence)) * 100);
}

function meter(record) {
  const percent = percentOf(record);
  const bar = drawing("svg", { class: "meter", viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" },
    drawing("rect", { width: percent, height: 10 }));
  return element("div", { class: "result-sure" }, bar, `${sureness(record.confidence)}, ${percent}%`);
}

function shownValueOf(record) {
  return record.value ?? firstOf(record.metadata.profile_url);
}

function valueLine(record, name = "div", kind = "") {
  const shown = shownValueOf(record);
  if (shown == null) return "";
  return element(name, { class: `result-value${kind}` }, link(firstOf(record.metadata.profile_url) ?? shown, shown));
}

const MOST_CHARS = 140;

// The beginning of a text in the metadata.
function textOfMember(record, name) {
  const value = record.metadata[name];
  const characters = [...plain(typeof value === "string" ? value.trim() : "")];
  return characters.length > MOST_CHARS ? `${characters.slice(0, MOST_CHARS).join("")}…` : characters.join("");
}

// What a card shows besides its value: the name, the text and the figures of a profile, as the server shows them.
function factsOf(record) {
  const day = (name) => textOfMember(record, name).slice(0, 10);
  const { followers } = record.metadata;
  const name = textOfMember(record, "display_name");
  const active = day("last_seen_at") || day("last_posted_at");
  return {
    name: name === shownValueOf(record) ? "" : name,
    bio: textOfMember(record, "bio"),
    figures: [textOfMember(record, "location"),
      Number.isInteger(followers) && followers >= 0 ? `${followers} followers` : "",
      day("created_at") && `since ${day("created_at")}`, active && `active ${active}`].filter(Boolean),
    hasPicture: Boolean(record.metadata.avatar?.sha256),
  };
}

// The place of a result among others, by the rule of the server: those with something to show before bare ones, then the
// more certain, then those with more to show, then those of the more popular site.
function standingOf(record, rank) {
  const { name, bio, figures, hasPicture } = factsOf(record);
  const facts = figures.length + [name, bio, hasPicture].filter(Boolean).length;
  return [Number(facts === 0), -percentOf(record), -facts, rank, record.id];
}

function compareStandings(one, other) {
  const at = one.findIndex((value, index) => value !== other[index]);
  return at < 0 ? 0 : one[at] - other[at];
}

function isBare([bare]) {
  return bare === 1;
}

function aboutLines({ name, bio, figures }) {
  const line = (kind, child) => element("div", { class: `result-about${kind}` }, child);
  const lines = [];
  if (name) lines.push(line("", element("strong", {}, element("bdi", {}, name))));
  if (bio) lines.push(line("", element("bdi", {}, bio)));
  if (figures.length) lines.push(line(" faint", element("bdi", {}, figures.join(" · "))));
  return lines;
}

function badgeOf(record) {
  return element("span", { class: "badge" }, plain(record.type).replaceAll("_", " "));
}

// A card, or a line for a result with nothing but its value.
function resultCard(record, standing, thumbnails) {
  const [kind, head] = isBare(standing) ? ["result bare", bareLine(record)] : ["result", cardHead(record, thumbnails)];
  return element("li", { class: kind, id: `result-${record.id}` }, head, detailsOf(record, isBare(standing)));
}

function cardHead(record, thumbnails) {
  const name = element("div", { class: "result-name" }, element("bdi", {}, platformOf(record)), badgeOf(record));
  const body = element("div", {}, name, valueLine(record), ...aboutLines(factsOf(record)), meter(record));
  return element("div", { class: "result-head" }, face(record, thumbnails), body);
}

function bareLine(record) {
  const platform = element("strong", { class: "cut" }, element("bdi", {}, platformOf(record)));
  const percent = element("span", { class: "faint" }, `${percentOf(record)}%`);
  return element("div", { class: "result-line" }, platform, " ", valueLine(record, "span", " cut"), " ", percent);
}

// Created when they are first opened, since most never are. A line has no place for the word.
function detailsOf(record, isLine) {
  const word = "Details";
  const of = element("span", { class: "visually-hidden" }, `${isLine ? word : ""} of ${platformOf(record)}`);
  const details = element("details", {}, element("summary", {}, isLine ? "" : word, of));
  details.addEventListener("toggle", () => {
    if (details.open && !details.querySelector("dl")) details.append(facts(record));
  });
  return details;
}

// Creates the details immediately, because their toggle event comes later.
function openDetails(card, record) {
  const details = card.querySelector("details");
  details.append(facts(record));
  details.open = true;
}

function facts(record) {
  const list = element("dl");
  const add = (name, ...shown) => list.append(element("dt", {}, name), element("dd", {}, ...shown));
  for (const [name, value] of Object.entries(record.metadata)) {
    if (value === null || value === "" || SHOWN_ELSEWHERE.has(name)) continue;
    add(humanize(name), ...shownValue(value));
  }
  const address = firstOf(record.metadata.profile_url);
  if (address != null && record.value != null) add("Address", link(address, address));
  const picture = firstOf(record.metadata.avatar_url);
  if (picture != null) add("Picture", link(picture, picture));
  add("Type", humanize(record.type));
  add("Found by", plain(sourcesOf(record).join(", ")));
  add("Seen", plain(record.created_at).replace("T", " ").replace(/\.\d+Z$/, " UTC"));
  return list;
}

// Formats texts and numbers as they are, lists of them separated by commas, anything deeper as JSON.
function shownValue(value) {
  if (value === true) return ["yes"];
  if (value === false) return ["no"];
  if (Array.isArray(value) && value.every((item) => item === null || typeof item !== "object")) {
    return value.flatMap((item, index) => [index ? ", " : "", ...shownValue(item ?? "")]);
  }
  if (value !== null && typeof value === "object") return [element("code", {}, plain(JSON.stringify(value, null, 1)))];
  return [link(value, value)];
}

function sourcesOf(record) {
  const named = Array.isArray(record.metadata.sources) ? record.metadata.sources : [];
  const ids = named.map((source) => source?.module).filter((id) => typeof id === "string");
  return ids.length ? ids : [record.source];
}
