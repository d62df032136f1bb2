// Unpacks the browser of the npm package into a folder: `node unpack.mjs WEB FOLDER`. By itself the package takes the folder of temporary
// files, for all checkouts of a machine.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [, , web, folder] = process.argv;
const require = createRequire(pathToFileURL(`${web}/package.json`));
process.env.TMPDIR = folder;
const { default: packed } = await import(pathToFileURL(require.resolve("@sparticuz/chromium")));
await packed.executablePath();
