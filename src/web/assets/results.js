// The list of results by keys, and verdicts in place. Without this script, a verdict loads the page again.

// The arrow keys move between results, y, u and n give a verdict and move on, z takes the last one back, / leads to the
// filter, and Escape closes the details of a result.
const STEPS = { ArrowDown: 1, ArrowUp: -1 };
const VERDICTS = { y: "mine", u: "unsure", n: "not_mine" };
// The buttons that give back what was, the last one at the end.
const given = [];
let last = Promise.resolve();

function walk(result, step) {
  const results = [...document.querySelectorAll(".result")];
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
  const result = button.closest(".result");
  const before = result.querySelector("[aria-pressed=true]")?.className ?? "none";
  const [, verdict] = button.value.split(" ");
  const body = new URLSearchParams(new FormData(button.form, button));
  mark(result, verdict);
  last = last.then(async () => {
    try {
      const answer = await fetch(button.form.action, { method: "POST", body, redirect: "manual" });
      if (answer.type !== "opaqueredirect") throw new Error(answer.status);
      document.dispatchEvent(new Event("judged"));
    } catch {
      // The page that the form loads says why.
      mark(result, before);
      button.form.requestSubmit(button);
    }
  });
  return { result, before };
}

document.addEventListener("click", (event) => {
  const button = event.target.closest(".verdicts button");
  if (!button) return;
  event.preventDefault();
  given.push(judge(button));
});

document.addEventListener("keydown", (event) => {
  if (event.altKey || event.ctrlKey || event.metaKey || event.target.matches("input, select, textarea")) return;
  if (event.key === "Escape") {
    const details = document.querySelector(".result details[open]");
    details?.removeAttribute("open");
    details?.querySelector("summary").focus();
  }
  const result = event.target.closest(".result");
  let isDone = false;
  if (event.key === "/") {
    const field = document.querySelector("#filter");
    field?.focus();
    isDone = Boolean(field);
  } else if (event.key === "z" && given.length > 0) {
    const { result: judged, before } = given.pop();
    const button = judged.querySelector(before === "none" ? "[aria-pressed=true]" : `.verdicts .${before}`);
    if (button) judge(button);
    judged.querySelector("summary").focus();
    isDone = true;
  } else if (result && event.key in STEPS) {
    isDone = Boolean(walk(result, STEPS[event.key]));
  } else if (result && event.key in VERDICTS) {
    given.push(judge(result.querySelector(`.verdicts .${VERDICTS[event.key]}`)));
    walk(result, 1);
    isDone = true;
  }
  if (isDone) event.preventDefault();
});
