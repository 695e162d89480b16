"use strict";
for (const button of document.querySelectorAll("button[data-print]")) {
  button.addEventListener("click", () => print());
}
