// What every page does beyond its HTML, none of which it needs to work.
"use strict";
