// A browser that Python drives: one JSON request a line on stdin, one reply a line on stdout.
// {id, page, method, args} calls a method of a page of playwright; with `selector`, one of its locator there.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { inflateSync } from "node:zlib";

const require = createRequire(pathToFileURL(`${process.argv[2]}/package.json`));
const { chromium: playwright } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8"); // its `source` is twice as long to read

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
  async colours({ page, selector }) {
    return [...coloursOf(await pages.get(page).made.locator(selector).screenshot())];
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
    const told = async (expression) => (await session.send("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true })).result.value;
    if (!(await told("!!globalThis.axe"))) await told(`{ ${axe}; undefined; }`);
    const broken = await told(
      `axe.run(document, { resultTypes: ["violations"] }).then((found) => JSON.stringify(found.violations.map((each) => each.id + ": " + each.nodes.map((node) => node.target + " " + (node.failureSummary ?? "")).join("; "))))`,
    );
    await session.detach();
    return JSON.parse(broken);
  },
};

/** Colours of the pixels of a PNG of 8 bits a channel, without their opacity. */
function coloursOf(picture) {
  const [wide, channels] = [picture.readUInt32BE(16), { 2: 3, 6: 4 }[picture[25]]];
  const packed = [];
  for (let at = 8; at < picture.length; at += 12 + picture.readUInt32BE(at))
    if (picture.toString("latin1", at + 4, at + 8) === "IDAT") packed.push(picture.subarray(at + 8, at + 8 + picture.readUInt32BE(at)));
  const raw = inflateSync(Buffer.concat(packed));
  const line = wide * channels;
  const found = new Set();
  let before = Buffer.alloc(line);
  for (let start = 0; start < raw.length; start += line + 1) {
    const [mode, now] = [raw[start], raw.subarray(start + 1, start + 1 + line)];
    for (let x = 0; x < line; x++) {
      const [left, up, corner] = [x < channels ? 0 : now[x - channels], before[x], x < channels ? 0 : before[x - channels]];
      const [far, high, both] = [Math.abs(up - corner), Math.abs(left - corner), Math.abs(left + up - 2 * corner)];
      const near = far <= high && far <= both ? left : high <= both ? up : corner;
      now[x] += [0, left, up, (left + up) >> 1, near][mode];
    }
    for (let x = 0; x < line; x += channels) found.add((now[x] << 16) | (now[x + 1] << 8) | now[x + 2]);
    before = now;
  }
  return [...found].map((each) => each.toString(16).padStart(6, "0"));
}

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
