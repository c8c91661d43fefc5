"use strict";

Redoc.init(
  "openapi.json",
  {
    // Its search would run a script from memory, which the page's policy does not let.
    disableSearch: true,
    nativeScrollbars: true,
    requiredPropsFirst: true,
    scrollYOffset: "nav",
    theme: { colors: { primary: { main: "#0f5f73" } } },
  },
  document.getElementById("documentation"),
);
