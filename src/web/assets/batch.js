// The pages of batches: puts a chosen file into the form, and refreshes a batch while it runs and its page is visible.

const BATCH_PACE_MS = 3_000;
const MOST_FILE_BYTES = 2 * 1024 * 1024;

// Reads the chosen file into the text field. The form works without it: the text can be pasted.
for (const box of document.querySelectorAll("[data-file]")) {
  const [input, said] = [box.querySelector("input"), box.querySelector("[role=status]")];
  const text = document.getElementById(box.dataset.file);
  box.hidden = false;
  input.addEventListener("change", async () => {
    const file = input.files[0];
    if (!file) return;
    if (file.size > MOST_FILE_BYTES) {
      said.textContent = "The file is too large: at most 2 MiB are allowed.";
      return;
    }
    text.value = await file.text();
    said.textContent = `${file.name} is in the field above.`;
  });
}

// Replaces the parts that have changed. A part with the focus stays as it is until the focus is elsewhere. Returns
// whether nothing is left to do.
function replaceParts(page, fresh) {
  let isDone = !fresh.querySelector("[data-open]");
  for (const part of fresh.querySelectorAll("[data-part]")) {
    const shown = page.querySelector(`[data-part=${part.dataset.part}]`);
    if (!shown || shown.outerHTML === part.outerHTML) continue;
    if (shown.contains(document.activeElement)) isDone = false;
    else shown.replaceWith(part);
  }
  return isDone;
}

async function followBatch(page, said) {
  for (let isDone = false; !isDone; ) {
    await new Promise((resolve) => setTimeout(resolve, BATCH_PACE_MS));
    if (document.hidden) continue;
    try {
      const answer = await fetch(page.dataset.batch, { cache: "no-store", redirect: "manual" });
      if (answer.status === 404) return (said.textContent = "The batch was removed.");
      if (answer.type === "opaqueredirect" || answer.status === 401) {
        return (said.textContent = "Your session has ended: load the page again to sign in.");
      }
      if (!answer.ok) throw new Error(answer.status);
      isDone = replaceParts(page, new DOMParser().parseFromString(await answer.text(), "text/html"));
      said.textContent = isDone ? "The batch has ended." : "";
    } catch {
      said.textContent = "The service does not answer: trying again.";
    }
  }
}

const batch = document.querySelector("[data-batch]");
if (batch?.querySelector("[data-open]")) followBatch(batch, document.querySelector("#batch-said"));
