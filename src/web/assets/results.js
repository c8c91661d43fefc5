// The list of results by keys, and verdicts in place. Without this script, a verdict loads the page again.

// The arrow keys move between results, y, u and n give a verdict and move on, z takes the last one back, / leads to the
// filter, and Escape closes the details of a result.
const STEPS = { ArrowDown: 1, ArrowUp: -1 };
const VERDICTS = { y: "mine", u: "unsure", n: "not_mine" };
// The verdicts that were given: the ids of their results, and what was before. The last one is at the end.
const given = [];
let last = Promise.resolve();

function walk(result, step) {
  const results = [...document.querySelectorAll(".result")].filter((one) => one.checkVisibility());
  const target = results[results.indexOf(result) + step]?.querySelector("summary");
  target?.focus();
  return target;
}

function mark(result, verdict) {
  for (const button of result.querySelectorAll(".verdicts button")) {
    const isGiven = button.className === verdict;
    button.setAttribute("aria-pressed", isGiven);
    button.value = `${result.id.slice("result-".length)} ${isGiven ? "none" : button.className}`;
  }
  result.classList.remove(...Object.values(VERDICTS));
  if (verdict !== "none") result.classList.add(verdict);
}

// Gives the verdict of the button. The verdicts are sent one after the other, so that the last one counts.
function judge(button) {
  const { form } = button;
  const result = button.closest(".result");
  const before = result.querySelector("[aria-pressed=true]")?.className ?? "none";
  const [, verdict] = button.value.split(" ");
  const body = new URLSearchParams(new FormData(form, button));
  mark(result, verdict);
  last = last.then(async () => {
    try {
      const answer = await fetch(form.action, { method: "POST", body, redirect: "manual" });
      if (answer.type !== "opaqueredirect") throw new Error(answer.status);
      document.dispatchEvent(new Event("judged"));
    } catch {
      // The page that is loaded says why.
      if (!button.isConnected) return location.reload();
      mark(result, before);
      form.requestSubmit(button);
    }
  });
  return { id: result.id, before };
}

document.addEventListener("click", (event) => {
  const button = event.target.closest(".verdicts button");
  if (!button) return;
  event.preventDefault();
  given.push(judge(button));
});

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") {
    const details = document.querySelector(".result details[open]");
    details?.removeAttribute("open");
    details?.querySelector("summary").focus();
  }
  if (event.altKey || event.ctrlKey || event.metaKey || (event.shiftKey && event.key !== "/") || event.target.matches("input, select, textarea")) return;
  const result = event.target.closest(".result");
  let isDone = false;
  if (event.key === "/") {
    const field = document.querySelector("#filter");
    field?.focus();
    isDone = Boolean(field);
  } else if (event.key === "z" && given.length > 0) {
    const { id, before } = given.pop();
    const judged = document.getElementById(id);
    const button = judged?.querySelector(before === "none" ? "[aria-pressed=true]" : `.verdicts .${before}`);
    if (button) judge(button);
    judged?.querySelector("summary").focus();
    isDone = true;
  } else if (result && event.key in STEPS) {
    isDone = Boolean(walk(result, STEPS[event.key]));
  } else if (result && event.key in VERDICTS) {
    const button = result.querySelector(`.verdicts .${VERDICTS[event.key]}`);
    // A verdict that is there stays.
    if (button.getAttribute("aria-pressed") === "false") given.push(judge(button));
    walk(result, 1);
    isDone = true;
  }
  if (isDone) event.preventDefault();
});
