// Build the console into src/virtshape/web/static. The same sources give the same bytes: no dates, no machine paths.
import { createHash } from "node:crypto";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import * as esbuild from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const argument = process.argv.slice(2).find((word) => !word.startsWith("--"));
const output = argument ?? join(here, "../src/virtshape/web/static");
const watches = process.argv.includes("--watch");
const LIMIT = 300 * 1024; // compressed, without the serial console and the screen
const BUNDLED = ["preact", "@xterm/xterm", "@xterm/addon-fit", "@novnc/novnc"];

// xterm.js writes style elements and style attributes, which the Content-Security-Policy forbids. The same rules are
// allowed as style sheets that scripts construct (src/guest/adoptedStyle.ts) and as properties of element.style.
const XTERM_EDITS = [
  ['createElement("style")', 'createElement("adopted-style")', 3],
  // biome-ignore lint/suspicious/noTemplateCurlyInString: part of a program
  ['.setAttribute("style",`${t.getAttribute("style")||""}${e};`)', ".style.cssText+=`${e};`", 1],
];
const xtermStyles = {
  name: "xterm-styles",
  setup(build) {
    build.onLoad({ filter: /@xterm\/xterm\/lib\/xterm\.mjs$/ }, async ({ path }) => {
      let contents = await readFile(path, "utf8");
      for (const [from, to, count] of XTERM_EDITS) {
        const parts = contents.split(from);
        if (parts.length !== count + 1)
          throw new Error(`xterm.js has changed: expected ${count} occurrences of ${from}`);
        contents = parts.join(to);
      }
      return { contents, loader: "js" };
    });
  },
};

const options = {
  absWorkingDir: here,
  entryPoints: { main: "src/main.tsx" },
  outdir: join(output, "assets"),
  bundle: true,
  splitting: true,
  format: "esm",
  target: "es2022",
  minify: true,
  legalComments: "none", // the licences are in licenses.txt
  entryNames: "[name]-[hash]",
  chunkNames: "[name]-[hash]",
  assetNames: "[name]-[hash]",
  jsx: "automatic",
  jsxImportSource: "preact",
  plugins: [xtermStyles],
  metafile: true,
  write: false,
  logLevel: "warning",
};

async function writeOutput(result) {
  await rm(output, { recursive: true, force: true });
  await mkdir(join(output, "assets"), { recursive: true });
  const outputs = Object.entries(result.metafile.outputs);
  const entry = outputs.find(([, about]) => about.entryPoint === "src/main.tsx");
  const script = `/console/assets/${entry[0].split("/").at(-1)}`;
  const style = `/console/assets/${entry[1].cssBundle.split("/").at(-1)}`;
  for (const file of result.outputFiles)
    await writeFile(join(output, "assets", relative(options.outdir, file.path)), file.contents);
  const icon = await readFile(join(here, "src/icon.svg"));
  const iconName = `icon-${createHash("sha256").update(icon).digest("hex").slice(0, 8)}.svg`;
  await writeFile(join(output, "assets", iconName), icon);
  const page = await readFile(join(here, "src/index.html"), "utf8");
  const filled = page
    .replace("{script}", script)
    .replace("{style}", style)
    .replace("{icon}", `/console/assets/${iconName}`);
  await writeFile(join(output, "index.html"), filled);
  await writeFile(join(output, "licenses.txt"), await collectLicenses());
  return measure(result, entry[0]);
}

async function collectLicenses() {
  const texts = [];
  for (const name of BUNDLED) {
    const folder = join(here, "node_modules", name);
    const { version, license } = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
    const text = await readFile(join(folder, name === "@novnc/novnc" ? "LICENSE.txt" : "LICENSE"), "utf8");
    texts.push(`${name} ${version} (${license})\n\n${text.trim()}\n`);
  }
  return texts.join(`\n${"-".repeat(80)}\n\n`);
}

// Return the compressed size of what every page loads: the entry point, its static imports and its style sheet.
function measure(result, entry) {
  const contents = new Map(result.outputFiles.map((file) => [relative(here, file.path), file.contents]));
  const names = new Set([entry, result.metafile.outputs[entry].cssBundle]);
  for (const name of names) {
    const imports = result.metafile.outputs[name]?.imports ?? [];
    for (const { path, kind } of imports) if (kind === "import-statement") names.add(path);
  }
  let size = 0;
  for (const name of names) size += gzipSync(contents.get(name)).length;
  return size;
}

function report(size) {
  console.log(`console: ${(size / 1024).toFixed(1)} KB compressed`);
  if (size > LIMIT) throw new Error(`The console is larger than ${LIMIT / 1024} KB`);
}

if (watches) {
  const plugin = {
    name: "write",
    setup: (build) => build.onEnd(async (result) => result.errors.length || report(await writeOutput(result))),
  };
  await (await esbuild.context({ ...options, plugins: [...options.plugins, plugin] })).watch();
} else {
  report(await writeOutput(await esbuild.build(options)));
}
