import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { defineConfig, type Plugin } from "vite";

const OUT = "../service/http/page/built";

/** What is compressed once, so that the service need not do it for every reader. */
function compressed(): Plugin {
  return {
    name: "compressed",
    closeBundle() {
      const folder = join(OUT, "assets");
      for (const name of readdirSync(folder)) {
        if (!/\.(js|css)$/.test(name)) continue;
        const body = readFileSync(join(folder, name));
        writeFileSync(join(folder, `${name}.gz`), gzipSync(body, { level: 9 }));
        writeFileSync(join(folder, `${name}.br`), brotliCompressSync(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } }));
      }
    },
  };
}

/** The licences of all packages that are in the bundle, as these ask for. */
function licences(): Plugin {
  return {
    name: "licences",
    generateBundle(_, bundle) {
      const folders = new Set<string>();
      for (const chunk of Object.values(bundle)) {
        for (const id of chunk.type === "chunk" ? chunk.moduleIds : []) {
          const found = /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id.replace(/^\0/, ""));
          if (found) folders.add(found[0]);
        }
      }
      const texts = [...folders].sort().map((folder) => {
        const about = JSON.parse(readFileSync(join(folder, "package.json"), "utf-8"));
        const file = readdirSync(folder).find((name) => /^licen[cs]e/i.test(name));
        const text = file ? readFileSync(join(folder, file), "utf-8").trim() : `Licence: ${about.license}`;
        return `${about.name} ${about.version} (${about.license})\n\n${text}\n`;
      });
      this.emitFile({ type: "asset", fileName: "LICENCES.txt", source: texts.join(`\n${"-".repeat(80)}\n\n`) });
    },
  };
}

export default defineConfig({
  base: "./",
  esbuild: { jsx: "automatic", jsxImportSource: "preact" },
  build: {
    outDir: OUT,
    emptyOutDir: true,
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  plugins: [licences(), compressed()],
});
