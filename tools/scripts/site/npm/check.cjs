// Looks at the built site in headless Chromium: node check.cjs FOLDER [SCREENSHOTS]
// At the width of a phone and of a desk, no page may have a violation that axe finds, scroll sideways or ask another host
// for anything; and the search has to find something.
const { existsSync, mkdirSync, readdirSync, readFileSync } = require("node:fs");
const { createServer } = require("node:http");
const { extname, join, relative, resolve, sep } = require("node:path");
const puppeteer = require("puppeteer-core");

const WIDTHS = [390, 1280];
const SCHEMES = ["light", "dark"];
const WORKERS = 3;
const CHROMIUM = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const TYPES = { ".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml" };
// Every page written by hand, and the first few of each kind that is generated.
const GENERATED = ["api", "bindings/v2025_11_25", "examples", "decisions"];

function pages(root) {
  const names = (folder) => readdirSync(join(root, folder)).filter((name) => name.endsWith(".html")).sort();
  const written = ["", "start"].flatMap((folder) => names(folder).map((name) => join(folder, name)));
  return [...written, ...GENERATED.flatMap((folder) => names(folder).slice(0, 3).map((name) => join(folder, name)))];
}

function serve(root) {
  const server = createServer((request, response) => {
    const file = resolve(root, "." + decodeURIComponent(new URL(request.url, "http://site").pathname));
    const found = file.startsWith(root + sep) && existsSync(file);
    response.writeHead(found ? 200 : 404, { "content-type": TYPES[extname(file)] || "application/octet-stream" });
    response.end(found ? readFileSync(file) : "");
  });
  return new Promise((done) => server.listen(0, "127.0.0.1", () => done(`http://127.0.0.1:${server.address().port}/`)));
}

async function look(browser, site, name, width, scheme, screenshots) {
  const found = [];
  const page = await browser.newPage();
  await page.setBypassCSP(true); // for axe, which pages with a policy would not load
  await page.setViewport({ width, height: 900 });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  page.on("request", (request) => {
    if (!request.url().startsWith(site) && !request.url().startsWith("data:")) found.push(`asks for ${request.url()}`);
  });
  page.on("pageerror", (error) => found.push(`script error: ${error.message}`));
  await page.goto(site + name + (name === "search.html" ? "?q=progress" : ""));
  if (name === "search.html") {
    await page.waitForSelector("#search-results li", { timeout: 10_000 }).catch(() => found.push("search finds nothing"));
  }
  if (name === "protocol.html") found.push(...(await browse(page, site + name)));
  if (screenshots) {
    const file = `${name.replaceAll("/", "-").replace(".html", "")}-${width}-${scheme}.png`;
    await page.screenshot({ path: join(screenshots, file) });
  }
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  if (wide > 0) found.push(`is ${wide} pixels wider than the screen`);
  await page.addScriptTag({ path: require.resolve("axe-core/axe.min.js") });
  const { violations } = await page.evaluate(() => axe.run({ resultTypes: ["violations"] }));
  for (const { id, nodes } of violations) {
    found.push(`axe: ${id} (${nodes.length}): ${nodes[0].html.slice(0, 200)}`);
    if (process.env.VERBOSE) found.push(nodes.map((node) => `    ${node.target} ${node.failureSummary}`).join("\n"));
  }
  await page.close();
  return found.map((line) => `${name} at ${width} pixels, ${scheme}: ${line}`);
}

// The reference: an address chooses a revision, another revision keeps the place, and the search finds properties.
async function browse(page, address) {
  const found = [];
  const state = () => page.evaluate(() => [document.querySelector("select").value, location.hash, document.querySelectorAll(".entry:not([hidden])").length]);
  await page.goto(address + "#2025-11-25/tools/call");
  if ((await state())[0] !== "2025-11-25") found.push("an address does not choose its revision");
  await page.select("select", "2025-06-18");
  const [, place, all] = await state();
  if (place !== "#2025-06-18/tools/call") found.push(`another revision leads to ${place}`);
  await page.type("input[type=search]", "nextCursor");
  const hits = (await state())[2];
  if (hits === 0 || hits >= all) found.push(`the search finds ${hits} of ${all}`);
  return found;
}

async function main() {
  const root = resolve(process.argv[2]);
  const screenshots = process.argv[3] && resolve(process.argv[3]);
  if (screenshots) mkdirSync(screenshots, { recursive: true });
  const executablePath = process.env.CHROMIUM || CHROMIUM.find(existsSync);
  if (!executablePath) throw new Error("Chromium is missing: apt install chromium, or set CHROMIUM=/path/to/it");
  const site = await serve(root);
  const browser = await puppeteer.launch({ executablePath, args: ["--no-sandbox"] });
  const jobs = pages(root).flatMap((name, index) =>
    WIDTHS.flatMap((width) =>
      SCHEMES.filter((scheme) => scheme === "light" || index % 8 === 0).map((scheme) => [name, width, scheme]),
    ),
  );
  const total = jobs.length;
  const found = [];
  const work = async () => {
    for (let job = jobs.shift(); job; job = jobs.shift()) found.push(...(await look(browser, site, ...job, screenshots)));
  };
  await Promise.all(Array.from({ length: WORKERS }, work));
  await browser.close();
  for (const line of found.sort()) console.error(line);
  console.log(`${total} views of ${relative(process.cwd(), root)}: ${found.length} problems`);
  return found.length ? 1 : 0;
}

main().then(
  (status) => process.exit(status),
  (error) => {
    console.error(`site-check: ${error.message}`);
    process.exit(2);
  },
);
