
"use strict";
(() => {
  const form = document.querySelector(".filters");
  const findings = [...document.querySelectorAll(".finding")];
  const groups = [...document.querySelectorAll(".group")];
  const nothing = document.querySelector(".nothing");
  const output = form.querySelector("output");
  const texts = new Map(findings.map((finding) => [
    finding, `${finding.closest(".group").querySelector("h2").textContent} ${finding.textContent}`.toLowerCase(),
  ]));
  const has = (words, word) => word === "" || words.split("\n").includes(word);

  function filter() {
    const wanted = new FormData(form);
    const severities = wanted.getAll("severity");
    const text = wanted.get("text").trim().toLowerCase();
    let shown = 0;
    const bySeverity = {};
    for (const finding of findings) {
      const { severity, role, view, method } = finding.dataset;
      const fits = has(role, wanted.get("role")) && has(view, wanted.get("view")) &&
        has(method, wanted.get("method")) && texts.get(finding).includes(text);
      bySeverity[severity] = (bySeverity[severity] || 0) + (fits ? 1 : 0);
      finding.hidden = !(fits && severities.includes(severity));
      shown += finding.hidden ? 0 : 1;
    }
    for (const group of groups) {
      const visible = group.querySelectorAll(".finding:not([hidden])").length;
      const total = group.querySelectorAll(".finding").length;
      group.hidden = visible === 0;
      const label = group.querySelector(".total");
      label.textContent = visible === total ? label.dataset.total : `${visible} of ${label.dataset.total}`;
    }
    for (const count of form.querySelectorAll(".count")) {
      count.textContent = bySeverity[count.dataset.severity] || 0;
    }
    nothing.hidden = shown > 0 || findings.length === 0;
    output.value = `${shown} of ${findings.length}`;
  }

  form.addEventListener("input", filter);
  form.addEventListener("reset", () => setTimeout(filter));
  form.addEventListener("submit", (event) => event.preventDefault());
  // Closed details are not printed.
  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((part) => { part.open = true; }));
  // A link to a finding that the filters hide would lead nowhere.
  addEventListener("hashchange", () => {
    const target = document.getElementById(location.hash.slice(1));
    if (target && target.closest("[hidden]")) {
      form.reset();
      setTimeout(() => target.scrollIntoView());
    }
  });
  form.hidden = false;
  filter();
})();
