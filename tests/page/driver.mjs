// A browser that Python drives: one JSON request a line on stdin, one reply a line on stdout.
// {id, page, method, args} calls a method of a page of playwright; with `selector`, one of its locator there.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const require = createRequire(pathToFileURL(`${process.argv[2]}/package.json`));
const { chromium: playwright } = require("playwright-core");
const axe = require("axe-core").source;

// WebGL is drawn by the processor, the rest of a page without it: SwiftShader takes ten times as long to put a page together.
const browser = await playwright.launch({
  executablePath: process.argv[3],
  args: [
    ...["--no-sandbox", "--disable-dev-shm-usage", "--font-render-hinting=none"],
    ...["--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--disable-gpu-compositing"],
  ],
});
const glance = await browser.newPage();
if (!(await glance.evaluate(() => !!document.createElement("canvas").getContext("webgl2")))) throw new Error("the browser draws no WebGL");
await glance.close();
// What the browser notes as it takes a picture over from WebGL: no word of the page, and no call of it.
const OWN_NOTE = /GL Driver Message \(OpenGL, Performance, .*GPU stall due to ReadPixels/;
const pages = new Map();
const PATIENCE = 180_000; // as everywhere in the tests: no promise of speed

const own = {
  async open({ page, options }) {
    const context = await browser.newContext({ locale: "en-GB", timezoneId: "UTC", ...options });
    const made = await context.newPage();
    made.setDefaultTimeout(PATIENCE);
    const wrong = [];
    await made.addInitScript(() => {
      globalThis.violations = [];
      addEventListener("securitypolicyviolation", (event) => globalThis.violations.push(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`));
    });
    made.on("console", (message) => ["error", "warning"].includes(message.type()) && !OWN_NOTE.test(message.text()) && wrong.push(`${message.type()}: ${message.text()}`));
    made.on("pageerror", (error) => wrong.push(`exception: ${error.message}`));
    made.on("dialog", (dialog) => (wrong.push(`dialog: ${dialog.message()}`), dialog.dismiss()));
    const asked = [];
    made.on("request", (request) => asked.push(request.url()));
    pages.set(page, { made, context, wrong, asked });
  },
  async close({ page }) {
    await pages.get(page).context.close();
    pages.delete(page);
  },
  async trouble({ page }) {
    const { made, wrong } = pages.get(page);
    return [...wrong, ...(await made.evaluate(() => globalThis.violations ?? []))];
  },
  async asked({ page }) {
    return pages.get(page).asked;
  },
  async cookies({ page }) {
    return pages.get(page).context.cookies();
  },
  /** Rules of axe that the page breaks. Its script comes by the debugging protocol, past the policy of the page. */
  async axe({ page }) {
    const { made } = pages.get(page);
    const session = await made.context().newCDPSession(made);
    const { result } = await session.send("Runtime.evaluate", {
      expression: `(() => { ${axe}; return axe.run(document, { resultTypes: ["violations"] }).then((found) => JSON.stringify(found.violations.map((each) => each.id + ": " + each.nodes.map((node) => node.target + " " + (node.failureSummary ?? "")).join("; ")))); })()`,
      awaitPromise: true,
      returnByValue: true,
    });
    await session.detach();
    return JSON.parse(result.value);
  },
};

async function answer(request) {
  if (own[request.own]) return own[request.own](request);
  const { made } = pages.get(request.page);
  const args = request.args ?? [];
  if (request.selector === undefined) {
    const [object, method] = request.method.includes(".") ? request.method.split(".") : [null, request.method];
    const found = await (object ? made[object][method](...args) : made[method](...args));
    return ["goto", "goBack", "goForward", "reload"].includes(request.method) ? (found?.status() ?? null) : method === "screenshot" ? null : found;
  }
  const found = await made.locator(request.selector)[request.method](...args);
  return request.method === "screenshot" ? null : found;
}

process.stdout.write(`${JSON.stringify({ id: 0, result: browser.version() })}\n`);
for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line);
  const reply = await answer(request).then(
    (result) => ({ id: request.id, result: result ?? null }),
    (error) => ({ id: request.id, error: String(error.message ?? error) }),
  );
  process.stdout.write(`${JSON.stringify(reply)}\n`);
}
await browser.close();
