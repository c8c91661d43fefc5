"use strict";

// ReDoc has a light theme with dark samples. These colours complete a dark theme.
const darkColors = {
  primary: { main: "#7ecbe0", light: "#a9dfee" },
  success: { main: "#6fcf7c" },
  error: { main: "#ffb0b0" },
  gray: { 50: "#262b2e", 100: "#33393c" },
  text: { primary: "#e4e6e6", secondary: "#b4bfc4" },
  border: { dark: "#52606a", light: "#3c464b" },
  responses: {
    success: { color: "#6fcf7c", backgroundColor: "#1d2c20", tabTextColor: "#6fcf7c" },
    error: { color: "#ffb0b0", backgroundColor: "#331f20", tabTextColor: "#ffb0b0" },
    redirect: { color: "#ffcf6b", backgroundColor: "#33291a", tabTextColor: "#ffcf6b" },
    info: { color: "#8cc7ff", backgroundColor: "#1b2a38", tabTextColor: "#8cc7ff" },
  },
};
const darkTheme = {
  colors: darkColors,
  schema: { nestedBackground: "#262b2e", typeNameColor: "#b4bfc4", typeTitleColor: "#b4bfc4", requireLabelColor: "#ffb0b0" },
  typography: { code: { color: "#ffb0a0", backgroundColor: "#2f3538" }, links: { color: "#7ecbe0" } },
  sidebar: { backgroundColor: "#23282b", textColor: "#e4e6e6" },
};
const lightTheme = { colors: { primary: { main: "#0f5f73" } } };

const dark = matchMedia("(prefers-color-scheme: dark)");
const place = document.getElementById("documentation");

function show() {
  Redoc.init(
    "openapi.json",
    {
      // Its search runs a script from memory, which the page's policy forbids.
      disableSearch: true,
      nativeScrollbars: true,
      requiredPropsFirst: true,
      scrollYOffset: 0,
      theme: dark.matches ? darkTheme : lightTheme,
    },
    place,
  );
}

// Corrections: headings of the parts of an operation skip two levels, and ReDoc's colour of patterns, which no theme can
// change, is too faint in the dark.
const patternColor = "rgb(14, 124, 134)";
new MutationObserver(() => {
  place.querySelectorAll("h5").forEach((heading) => heading.setAttribute("aria-level", "3"));
  if (!dark.matches) return;
  for (const { style } of [...document.styleSheets].flatMap((sheet) => [...sheet.cssRules])) {
    if (style?.color === patternColor) style.color = darkColors.primary.main;
  }
}).observe(place, { childList: true, subtree: true });

show();
dark.addEventListener("change", () => location.reload());
