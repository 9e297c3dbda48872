"use strict";
(() => {
  const form = document.querySelector(".tools");
  const choice = form.elements.revision;
  const output = form.querySelector("output");
  const entries = [...document.querySelectorAll(".entry")].map((element) => ({
    element,
    variants: [...element.querySelectorAll(".variant")].map((part) => ({
      element: part, revisions: part.dataset.revisions.split(" "), text: `${element.querySelector("h3").textContent} ${part.textContent}`.toLowerCase(),
    })),
  }));
  const contents = [...document.querySelectorAll("nav li a")];
  const links = [...document.querySelectorAll('nav li a, .variant a[href^="#"]')].map((element) => ({
    element, home: element.getAttribute("href"), name: nameOf(element.getAttribute("href")),
  }));
  const nothing = document.querySelector(".nothing");

  // An address is "#REVISION/NAME"; the name is a method, which may have slashes, or a type.
  function nameOf(address) {
    return address.slice(address.indexOf("/") + 1);
  }

  function target(address) {
    return document.getElementById(address.slice(1)) || document.getElementById(decodeURIComponent(address.slice(1)));
  }

  // The links of what several revisions say alike lead to the chosen one.
  function follow(revision) {
    for (const { element, home, name } of links) {
      const there = `#${revision}/${name}`;
      element.setAttribute("href", target(there) ? there : home);
    }
  }

  function filter() {
    const words = form.elements.text.value.trim().toLowerCase().split(/\s+/);
    let shown = 0;
    const names = new Set();
    for (const { element, variants } of entries) {
      let visible = false;
      for (const variant of variants) {
        const fits = variant.revisions.includes(choice.value);
        variant.element.hidden = !fits;
        visible ||= fits && words.every((word) => variant.text.includes(word));
      }
      element.hidden = !visible;
      shown += visible ? 1 : 0;
      if (visible) for (const anchor of element.querySelectorAll(".variant > i")) names.add(nameOf(anchor.id));
    }
    for (const link of contents) link.parentElement.hidden = !names.has(nameOf(link.getAttribute("href")));
    nothing.hidden = shown > 0;
    output.value = `${shown} of ${entries.length}`;
  }

  function visit() {
    const revision = location.hash.slice(1, location.hash.indexOf("/"));
    const found = location.hash && target(location.hash);
    if ([...choice.options].some((option) => option.value === revision)) choice.value = revision;
    follow(choice.value);
    if (found && found.closest(".entry")?.hidden) form.elements.text.value = "";
    filter();
    if (found) found.scrollIntoView();
  }

  choice.addEventListener("change", () => {
    const there = `#${choice.value}/${nameOf(location.hash)}`;
    if (location.hash && target(there)) location.hash = there;
    follow(choice.value);
    filter();
  });
  form.addEventListener("input", filter);
  form.addEventListener("submit", (event) => event.preventDefault());
  addEventListener("hashchange", visit);
  form.hidden = false;
  visit();
})();
