// Checks that every page must pass. The script returns a text for each problem.
(() => {
  const wrong = [];
  const all = (selector) => Array.from(document.querySelectorAll(selector));
  const shown = (element) => element.checkVisibility({ visibilityProperty: true }) && element.getClientRects().length > 0;
  const name = (element) => `<${element.tagName.toLowerCase()}> ${JSON.stringify((element.id || element.textContent).trim().slice(0, 40))}`;

  // The document.
  if (!document.documentElement.lang) wrong.push("the document has no language");
  if (!document.title.trim()) wrong.push("the document has no title");
  for (const landmark of ["header", "main", "footer"]) {
    if (all(landmark).length !== 1) wrong.push(`${all(landmark).length} <${landmark}>`);
  }
  const ids = all("[id]").map((element) => element.id);
  for (const id of ids) if (ids.indexOf(id) !== ids.lastIndexOf(id)) wrong.push(`id ${id} is there twice`);

  // Headings: one h1 first, and no level skipped.
  const levels = all("h1, h2, h3, h4, h5, h6").map((heading) => Number(heading.tagName[1]));
  if (levels.filter((level) => level === 1).length !== 1 || levels[0] !== 1) wrong.push(`headings ${levels}: there must be one h1, and first`);
  levels.forEach((level, i) => { if (i > 0 && level > levels[i - 1] + 1) wrong.push(`headings ${levels}: one is skipped`); });

  // Names and descriptions of controls.
  for (const field of all("input:not([type=hidden]), select, textarea")) {
    if (!Array.from(field.labels).some((label) => label.textContent.trim())) wrong.push(`${name(field)} has no label`);
  }
  for (const element of all("a, button, summary, legend, nav")) {
    if (!(element.getAttribute("aria-label") || element.textContent).trim()) wrong.push(`${name(element)} has no name`);
  }
  for (const image of all("img")) if (!image.hasAttribute("alt")) wrong.push(`${name(image)} has no alternative text`);
  for (const attribute of ["aria-describedby", "aria-labelledby"]) {
    for (const element of all(`[${attribute}]`)) {
      for (const id of element.getAttribute(attribute).split(" ")) {
        if (!document.getElementById(id)) wrong.push(`${name(element)}: ${attribute} ${id} is not there`);
      }
    }
  }
  for (const field of all("[aria-invalid]")) {
    if (!field.getAttribute("aria-describedby")) wrong.push(`${name(field)} does not say what is wrong with it`);
  }

  // Size: nothing is wider than the window, and a thumb hits every target. Links
  // within a sentence are as high as their line.
  const width = document.documentElement.scrollWidth;
  if (width > window.innerWidth) wrong.push(`the page is ${width} pixels wide, the window ${window.innerWidth}`);
  for (const target of all("a, button, summary, input:not([type=hidden])")) {
    const box = target.getBoundingClientRect();
    const skip = target.matches(".skip") || target.closest("p:not(.actions)") && !target.matches(".button");
    if (shown(target) && !skip && (box.height < 43.5 || box.width < 43.5)) wrong.push(`${name(target)} is ${box.width} by ${box.height} pixels`);
    if (shown(target) && !target.matches(".skip") && box.right > window.innerWidth + .5) wrong.push(`${name(target)} reaches out of the window`);
  }

  for (const element of all("main *")) { // 0 is the clientWidth of an inline element
    const over = element.clientWidth > 0 && getComputedStyle(element).overflowX === "visible" ? element.scrollWidth - element.clientWidth : 0;
    if (shown(element) && over > 1) wrong.push(`${name(element)} is ${over} pixels narrower than its text`);
  }

  // Contrast of every text with its background.
  const colour = (text) => (text.match(/[\d.]+/g) || []).map(Number);
  const luminance = (rgb) => rgb.slice(0, 3)
    .map((c) => c / 255).map((c) => (c <= .04045 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4))
    .reduce((sum, c, i) => sum + c * [.2126, .7152, .0722][i], 0);
  const behind = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const rgb = colour(getComputedStyle(e).backgroundColor);
      if (rgb.length === 3 || rgb[3] > 0) return rgb;
    }
    return [255, 255, 255];
  };
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const element = texts.currentNode.parentElement;
    if (!texts.currentNode.data.trim() || !shown(element) || element.closest(".hidden, datalist")) continue;
    const style = getComputedStyle(element);
    const [a, b] = [luminance(colour(style.color)), luminance(behind(element))];
    const contrast = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
    const large = parseFloat(style.fontSize) >= 24 || parseFloat(style.fontSize) >= 18.66 && Number(style.fontWeight) >= 700;
    if (contrast < (large ? 3 : 4.5)) wrong.push(`${name(element)}: contrast ${contrast.toFixed(2)}`);
  }
  return wrong;
})()
