// Keeps the page of an order up to date. The server sends the order's panel as HTML
// whenever the order changes; without this script, the panel has a link to reload.
"use strict";

const panel = document.getElementById("panel");

if (panel) {
  const headline = () => panel.querySelector("h2").textContent;
  let announced = headline();

  new EventSource(panel.dataset.events).addEventListener("order", (event) => {
    const focused = panel.contains(document.activeElement) ? document.activeElement.id : "";
    panel.innerHTML = event.data; // escaped by the server's template
    if (focused) {
      (document.getElementById(focused) || document.getElementById("reload")).focus();
    }
    if (announced !== headline()) { // for those who do not see it
      announced = headline();
      document.getElementById("announcement").textContent = announced;
    }
  });
}
