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

function meter(confidence) {
  const percent = Math.round(Math.min(1, Math.max(0, confidence)) * 100);
  const bar = drawing("svg", { class: "meter", viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" },
    drawing("rect", { width: percent, height: 10 }));
  return element("div", { class: "result-sure" }, bar, `${sureness(confidence)}, ${percent}%`);
}

function valueLine(record) {
  const address = firstOf(record.metadata.profile_url);
  const shown = record.value ?? address;
  if (shown == null) return "";
  return element("div", { class: "result-value" }, link(address ?? shown, shown));
}

const MOST_CHARS = 140;

// The beginning of a text in the metadata.
function textOfMember(record, name) {
  const value = record.metadata[name];
  const characters = [...plain(typeof value === "string" ? value.trim() : "")];
  return characters.length > MOST_CHARS ? `${characters.slice(0, MOST_CHARS).join("")}…` : characters.join("");
}

// The name, the text and the figures of a profile, as the server shows them.
function aboutLines(record) {
  const day = (name) => textOfMember(record, name).slice(0, 10);
  const name = textOfMember(record, "display_name");
  const active = day("last_seen_at") || day("last_posted_at");
  const figures = [textOfMember(record, "location"),
    Number.isInteger(record.metadata.followers) ? `${record.metadata.followers} followers` : "",
    day("created_at") && `since ${day("created_at")}`, active && `active ${active}`].filter(Boolean).join(" · ");
  const line = (kind, child) => element("div", { class: `result-about${kind}` }, child);
  const lines = [];
  if (name && name !== record.value) lines.push(line("", element("strong", {}, element("bdi", {}, name))));
  if (textOfMember(record, "bio")) lines.push(line("", element("bdi", {}, textOfMember(record, "bio"))));
  if (figures) lines.push(line(" faint", element("bdi", {}, figures)));
  return lines;
}

function resultCard(record, thumbnails) {
  const name = element("div", { class: "result-name" }, element("bdi", {}, platformOf(record)),
    element("span", { class: "badge" }, plain(record.type).replaceAll("_", " ")));
  const about = aboutLines(record);
  const body = element("div", {}, name, valueLine(record), ...about, meter(record.confidence));
  const head = element("div", { class: "result-head" }, face(record, thumbnails), body);
  const isBare = about.length === 0 && !record.metadata.avatar?.sha256;
  return element("li", { class: isBare ? "result bare" : "result", id: `result-${record.id}` }, head, detailsOf(record));
}

// Created when they are first opened, since most never are.
function detailsOf(record) {
  const of = element("span", { class: "visually-hidden" }, ` of ${platformOf(record)}`);
  const details = element("details", {}, element("summary", {}, "Details", of));
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
