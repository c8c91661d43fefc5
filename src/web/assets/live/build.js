// Creates elements. Text of sites is inserted as text, never as markup.

const SVG = "http://www.w3.org/2000/svg";

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function drawing(name, attributes, ...children) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

// Makes invisible characters and direction marks visible.
function plain(text) {
  return String(text).replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, "\ufffd");
}

// Returns an absolute http or https address, or null for any other scheme.
function webAddress(text) {
  if (typeof text !== "string" || !/^\s*https?:\/\//i.test(text)) return null;
  try {
    const url = new URL(text.trim());
    return /^https?:$/.test(url.protocol) && url.hostname ? url.href : null;
  } catch {
    return null;
  }
}

// Returns a link if the address is an http or https address, else the text.
function link(address, text) {
  const words = element("bdi", {}, plain(text));
  const href = webAddress(address);
  if (!href) return words;
  return element("a", { href, rel: "noopener noreferrer nofollow", referrerpolicy: "no-referrer", target: "_blank" }, words);
}

// Returns `rate_limited` as text for people.
function humanize(name) {
  const words = plain(name).replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function counted(count, one, many) {
  return `${count} ${count === 1 ? one : many}`;
}
