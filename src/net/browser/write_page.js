// Writes a page, the argument, and waits for its pictures, which are inside of it.
document.open(); document.write(arguments[0]); document.close();
return Promise.all([...document.images].map((image) => image.decode().catch(() => null))).then(() => null);
