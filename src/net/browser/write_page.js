// Writes a page, the argument, and replaces its pictures, which are inside of it as `data:` addresses, by drawings of them: the
// browser loads no pictures.
document.open(); document.write(arguments[0]); document.close();
return Promise.all([...document.images].map(async (image) => {
  const [head, text] = image.src.split(';base64,');
  if (!text) return;
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const picture = await createImageBitmap(new Blob([bytes], { type: head.slice(5) })).catch(() => null);
  if (!picture) return;
  const drawing = Object.assign(document.createElement('canvas'), { width: picture.width, height: picture.height });
  drawing.className = image.className;
  Object.assign(drawing.style, { width: `${image.width}px`, height: `${image.height}px` });
  drawing.getContext('2d').drawImage(picture, 0, 0);
  image.replaceWith(drawing);
})).then(() => null);
