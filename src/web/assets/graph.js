/* The graph of a search: shows what is joined to the entity under the pointer or with the focus. */
const near = (id) => {
  const drawing = document.querySelector('[data-graph]');
  if (!drawing || (!id && !drawing.classList.contains('chosen'))) return;
  drawing.classList.toggle('chosen', Boolean(id));
  const ids = new Set([id]);
  for (const line of drawing.querySelectorAll('line')) {
    const ends = [line.dataset.from, line.dataset.to];
    const is = ends.includes(id);
    line.classList.toggle('near', is);
    if (is) ends.forEach((end) => ids.add(end));
  }
  for (const dot of drawing.querySelectorAll('[data-dot]')) dot.classList.toggle('near', ids.has(dot.dataset.dot));
};
/* The drawing may be replaced while searches run. */
const dotOf = (event) => event.target.closest?.('[data-dot]')?.dataset.dot;
for (const name of ['focusin', 'pointerover']) document.addEventListener(name, (event) => near(dotOf(event)));
document.addEventListener('focusout', () => near(undefined));
