// Sorts the hotels by the price that the page shows, once all are there, and keeps the page of an
// order up to date. The server sends the order's panel as HTML whenever the order changes; without
// this script, the panel has a link to reload.
"use strict";

// Hotels arrive in the order of their net prices. What a guest pays may be another price.
const hotels = document.getElementById("hotels");

if (hotels) {
  const price = (hotel) => Number(hotel.dataset.price || Infinity);
  const arrived = [...hotels.children];
  const sorted = arrived.toSorted((a, b) => price(a) - price(b));
  if (sorted.some((hotel, i) => hotel !== arrived[i])) {
    const focused = document.activeElement;
    hotels.append(...sorted);
    focused.focus({ preventScroll: true });
  }
}

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
