/**
 * The browser bundle: `node build.mjs`. esbuild puts the modules together and keeps to the syntax of the oldest browsers
 * that are supported; SWC minifies, which leaves a few per cent less than esbuild's own minifier. What is left is packed:
 * a host sends the bundle with every widget and saves it in the notebook once per widget, and packed it is half as long.
 */
import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { deflateRawSync } from "node:zlib";
import { minify } from "@swc/core";
import { build } from "esbuild";

const BUNDLE = "../src/nf_widget/static";
const BROWSERS = ["es2022", "chrome111", "firefox113", "safari16.4"];
/** Taken out of their objects once, under names that a minifier may shorten. None of them has a `this`. */
const FUNCTIONS = {
  Math: ["abs", "ceil", "cos", "exp", "floor", "hypot", "log", "log2", "max", "min", "round", "sign", "sqrt"],
  Number: ["isFinite", "isNaN", "parseInt"],
  Object: ["entries"],
  JSON: ["stringify"],
};

/**
 * Properties of our own records, under names that are as short as variables' names. No message, host, element or attribute
 * has one of them, and none is looked up by a text: `shortened`, below, refuses one that is a text and no class's name.
 */
const PROPERTIES = `
  answered canvasHeight canvasWidth cards condition context density derive derived dismissed engaged entryPort
  exitPort extent extraRows firstRow fitted focusStage folded followers forgetErrors fromHub fromStart
  fullScreen hover hovered images incoming inspector interest isolated lacking lens level mostScale nearest
  notFinite outermost outgoing overtaken pane peek perRow photoOf picked pieces placed placement planeFor
  probe problem reading repainted routes rowName rowOnly scaleFor sideInBottomRow slot sources spatial spot
  steps summary thumbnail toHub view viewport visible widget
`
  .trim()
  .split(/\s+/);

const aliased = Object.entries(FUNCTIONS);

const functions = {
  name: "functions",
  setup(building) {
    // Destructured: `define`, below, would put the alias in place of what is written out here too.
    const take = ([object, names]) =>
      `export const { ${names.map((name) => `${name}: ${object}_${name}`).join(", ")} } = ${object};`;
    building.onResolve({ filter: /^functions$/ }, ({ path }) => ({ path, namespace: path, sideEffects: false }));
    building.onLoad({ filter: /.*/, namespace: "functions" }, () => ({ contents: aliased.map(take).join("\n") }));
  },
};

/**
 * A module that unpacks `code` and gives what its default export, a function, returns. A page keeps every module that it
 * has loaded, and hosts load one for every widget: the unpacked one is loaded once in a page, whoever asks, and what is
 * packed lies in a function, which costs nothing until it is called.
 */
function packedModule(code) {
  const data = deflateRawSync(code, { level: 9 }).toString("base64");
  const digest = createHash("sha256").update(code).digest("hex").slice(0, 16);
  return `// The front end of nf_widget, minified and deflated; its sources are in js/src.
const packed = () => "${data}";
const unpack = async () => {
  const bytes = Uint8Array.from(atob(packed()), (letter) => letter.charCodeAt(0));
  const inflated = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  const source = new Blob([await new Response(inflated).arrayBuffer()], { type: "text/javascript" });
  const url = URL.createObjectURL(source);
  try {
    return await import(url);
  } finally {
    URL.revokeObjectURL(url);
  }
};
export default async () => {
  const modules = (globalThis[Symbol.for("nf_widget")] ??= new Map());
  if (!modules.has("${digest}")) modules.set("${digest}", unpack());
  try {
    return (await modules.get("${digest}")).default();
  } catch (error) {
    modules.delete("${digest}");
    throw error;
  }
};
`;
}

const shared = { bundle: true, target: BROWSERS, legalComments: "none", logLevel: "warning" };
await build({ ...shared, entryPoints: { widget: "src/styles.css" }, outdir: BUNDLE, minify: true });
await build({
  ...shared,
  entryPoints: { widget: "src/index.ts" },
  outdir: BUNDLE,
  format: "esm",
  minifySyntax: true,
  plugins: [functions],
  inject: ["functions"],
  mangleProps: new RegExp(`^(${PROPERTIES.join("|")})$`),
  define: Object.fromEntries(
    aliased.flatMap(([object, names]) => names.map((name) => [`${object}.${name}`, `${object}_${name}`])),
  ),
});

/** Functions of a module as arrow functions, which are shorter: none of ours has a `this`, or is called before it is made. */
const asArrows = (code) =>
  code.replace(
    /^(async )?function (\w+)(\(.*\)) \{$/gm,
    (_, sync = "", name, parameters) => `var ${name} = ${sync}${parameters} => {`,
  );

function shortened(code) {
  const [text] =
    new RegExp(`(?<!\\b(?:div|span|svgPath|svgRect)\\d*\\()(["'\`])(${PROPERTIES.join("|")})\\1`).exec(code) ?? [];
  if (text) throw new Error(`build.mjs: ${text} is a text in the bundle, so it cannot be one of PROPERTIES`);
  return code;
}

const file = `${BUNDLE}/widget.js`;
const { code } = await minify(asArrows(shortened(await readFile(file, "utf8"))), {
  module: true,
  // `unsafe`: what becomes text may do so by `+`; there are no symbols among it.
  compress: { passes: 4, ecma: 2020, keep_fargs: false, toplevel: true, unsafe: true, unsafe_arrows: true },
  mangle: { toplevel: true },
});
const packed = packedModule(code);
await writeFile(file, packed);
process.stdout.write(`widget.js: ${packed.length} bytes, ${Buffer.byteLength(code)} unpacked\n`);
