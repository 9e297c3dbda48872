// Checks that the search of the built site finds the right page first: node search.cjs FOLDER
// It runs the search's own code on its own index, without a browser.
const { readFileSync } = require("node:fs");
const { join, resolve } = require("node:path");
const { createContext, runInContext } = require("node:vm");

// What people type, and the page that answers them. A page that names a word in `<!-- search: ... -->` is found first for it.
const WANTED = {
  auth: "authorization",
  deploy: "deployment",
  docker: "deployment",
  state: "app",
  database: "start/tutorial",
  lifespan: "app",
  test: "testing",
  install: "index",
};
const CODE = ["language_data.js", "base-stemmer.js", "english-stemmer.js", "doctools.js", "sphinx_highlight.js", "searchtools.js"];

function search(html) {
  const element = { childNodes: [], dataset: {}, addEventListener() {}, classList: { add() {} } };
  const document = { readyState: "loading", addEventListener() {}, getElementById: () => element, documentElement: element };
  const storage = { getItem: () => null, setItem() {}, removeItem() {} };
  const context = createContext({ document, localStorage: storage, DOCUMENTATION_OPTIONS: {}, URLSearchParams, console });
  context.window = context;
  for (const name of CODE) runInContext(readFileSync(join(html, "_static", name), "utf8"), context);
  runInContext(readFileSync(join(html, "searchindex.js"), "utf8"), context);
  context.first = (word) => runInContext(`Search._performSearch(...Search._parseQuery(${JSON.stringify(word)})).at(-1)`, context);
  return context.first;
}

const first = search(resolve(process.argv[2]));
const wrong = Object.entries(WANTED).flatMap(([word, page]) => {
  const [found] = first(word) ?? ["nothing"];
  return found === page ? [] : [`the search for ${word} finds ${found} first, not ${page}`];
});
for (const line of wrong) console.error(line);
process.exit(wrong.length ? 1 : 0);
