// How the search ranks what it finds: guides first, then the runtime and the examples, and the bindings of five revisions last.
// It is a `var` because searchtools.js declares its own one otherwise.
var Scorer = {
  score: ([page, , , , score]) => {
    const rank = page.startsWith("bindings/") ? 0.1 : /^(api|examples|decisions)\//.test(page) ? 0.5 : 1;
    return score * rank;
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
