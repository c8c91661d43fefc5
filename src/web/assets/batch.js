// The form for a batch: puts a chosen file into it.

// Reads the chosen file into the text field. The form works without it: the text can be pasted.
for (const box of document.querySelectorAll("[data-file]")) {
  const [input, said] = [box.querySelector("input"), box.querySelector("[role=status]")];
  const text = document.getElementById(box.dataset.file);
  box.hidden = false;
  // What was pasted or dropped on the search page.
  text.value ||= sessionStorage.getItem("batch") ?? "";
  sessionStorage.removeItem("batch");
  input.addEventListener("change", async () => {
    const file = input.files[0];
    if (!file) return;
    const read = await textOf(file);
    text.value = read ?? text.value;
    said.textContent = read === null ? TOO_LARGE : `${file.name} is in the field above.`;
  });
}
