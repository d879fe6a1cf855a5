// Makes the page's bundle: build.mjs MODULES OUTPUT, with `esbuild` and H5Web's packages in MODULES. Writes page.js, page.css
// and licenses.txt, each compressed (.gz), into OUTPUT.
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { gzipSync } from 'node:zlib';

const [modules, output] = process.argv.slice(2).map((word) => resolve(word));
const here = import.meta.dirname ?? dirname(new URL(import.meta.url).pathname);
// The copy that H5Web's application uses: their contexts are the same then.
const library = createRequire(join(modules, '@h5web/app/package.json')).resolve('@h5web/lib/styles.css').replace('styles.css', 'index.js');
const { build } = createRequire(join(modules, 'x.js'))('esbuild');

// A package's source with parts of it replaced, which the build fails without.
function patched(text, of) {
  const out = { text };
  out.replace = (pattern, replacement) => {
    if (!pattern.test(out.text)) {
      throw new Error(`${of} is not as it was: ${pattern}`);
    }
    out.text = out.text.replace(pattern, replacement);
  };
  return out;
}

// H5Web's ticks have three digits: seconds since 1970 would all read alike, and be cut at
// its margin; no property of its application changes that. Below a plot longer ones have half as many places, and where an
// axis shows times, ticks are dates.
function patchTicks({ replace }) {
  replace(/(\w+) ?= ?3, ?(\w+ ?= ?\/0\\\.\(\\d\+\)\$\/u, ?\w+ ?= ?\w+\(`\.\$\{)\1\}~g`\)/u, (all) => all.replace(/\.\$\{\w+\}~g/u, '.12~g'));
  replace(/left: 80,(\s*)right: 24,/u, 'left: h5mountNarrow ? 72 : 112,$1right: h5mountNarrow ? 16 : 48,');
  const axis = new RegExp([
    /(?<below>\w+)(?<said> = \w+ === "abscissa"),(?<rest>[^;]*\blabel: (?<label>\w+),[^;]*)/u,
    /(?<ticks>\w+) = (?<index>\w+) \? (?<indices>\{ tickValues: \w+\((?<domain>\w+), \w+\) \}) : \{ numTicks: (?<count>\w+) \};/u,
    /(?<between>[^]*?)\.\.\.\w+,(?<end>\s*\.\.\.\w+\s*\}\))/u,
  ].map(({ source }) => source).join(''), 'u');
  replace(axis, (...found) => {
    const { below, said, rest, label, ticks, index, indices, domain, count, between, end } = found.at(-1);
    const long = `${below} && Math.max(...${domain}.map(Math.abs)) >= 1e5`;
    return `${below}${said},${rest}h5mountTimes = ${index} ? undefined : timeAxis({ label: ${label}, isOrdinate: !${below}, `
      + `domain: ${domain}, count: ${below} ? Math.ceil(${count} / 2) : ${count} }), `
      + `${ticks} = ${index} ? ${indices} : h5mountTimes ? { tickValues: h5mountTimes.tickValues } : `
      + `{ numTicks: ${long} ? Math.ceil(${count} / 2) : ${count} };${between}...${ticks}, ...h5mountTimes?.axis,${end}`;
  });
}

// The sliders of dimensions: see frames.jsx.
function patchSliders({ replace }) {
  const { source: names } = /dimension: (?<dimension>\w+), length: (?<length>\w+), initialValue: (?<wanted>\w+), isFastSlice: \w+, onChange: (?<onChange>\w+) \}/u;
  replace(new RegExp(`(?<before>${names} = \\w+;[^;]*;\\s*let \\[(?<value>\\w+), (?<setValue>\\w+)\\] = \\w+\\(\\k<wanted>\\))`, 'u'), (...found) => {
    const { before, ...parts } = found.at(-1);
    return `${before}, h5mountPlay = useFrames({ ${Object.entries(parts).map(([key, of]) => `${key}: ${of}`).join(', ')} })`;
  });
  replace(/(renderTrack: [^]*?\}\) : null)(\s*\]\s*\}, \w+\);)/u, '$1, h5mountPlay$2');
}

// Whole numbers are shown as they are, whatever notation a table's floats have.
function patchIntegers({ replace }) {
  replace(/function (\w+)\((\w+)\) \{\s*if \(\2 === \w+\.Scientific\) \{\s*let (\w+) = \w+\("\.3e"\);\s*return \((\w+)\) => \3\(Number\(\4\)\);\s*\}\s*return \((\w+)\) => \5\.toString\(\);\s*\}/u,
    'function $1() { return (value) => value.toString(); }');
}

// Roles that ARIA has, with their states and names: H5Web's tabs are checked like radio buttons, or stand in no list, and its
// tables have no name and no key reaches them.
function patchToggles({ replace }) {
  replace(/role: (\w+) === "tablist" \? "tab" : "radio",([^]*?)"aria-checked": (\w+ === \w+),/u,
    'role: $1 === "tablist" ? "tab" : "radio",$2"aria-checked": $1 === "tablist" ? undefined : $3, "aria-selected": $1 === "tablist" ? $3 : undefined,');
}
function patchTables({ replace }) {
  replace(/className: \w+\.grid,/u, '$& "aria-label": "Values", tabIndex: 0,');
}
function patchTabs({ replace }) {
  replace(/className: (\w+)\.tabBar,/u, '$& role: "tablist", "aria-label": "Sidebar",');
}

// On a narrow screen the object has the room that there is.
function patchWidth({ replace }) {
  replace(/minSize: 500,/u, 'minSize: Math.min(500, 0.4 * globalThis.innerWidth),');
}

// Which object is shown, and its frames when it grows.
function patchFrames({ replace }) {
  replace(/return (\w+\((\w+), (\w+)\.dims\) && (\w+) === \3\.axesCount && (\w+) === \3\.lockedDimsCount) \? \[\3\.mapping, (\w+)\] : \[(\w+), \6\];/u,
    'return [followed($2, $4, $5, $1, $3.mapping, $7), $6];');
  replace(/(onSelectPath: \w+\s*\}\) : \/\* @__PURE__ \*\/ \w+\(\w+, \{ path: )(\w+)( \}\))/u, '$1showPath($2)$3');
}

const frames = JSON.stringify(join(here, 'frames.jsx'));
const own = {
  name: 'own',
  setup(setup) {
    setup.onLoad({ filter: /@h5web\/lib\/dist\/index\.js$/ }, ({ path }) => {
      const source = patched(readFileSync(path, 'utf8'), '@h5web/lib');
      patchTicks(source);
      patchSliders(source);
      patchToggles(source);
      patchTables(source);
      const begin = `import { timeAxis } from ${JSON.stringify(join(here, 'times.mjs'))};\nimport { useFrames } from ${frames};\n`
        + `const h5mountNarrow = matchMedia('(max-width: 700px)').matches;\n`;
      return { contents: begin + source.text, loader: 'js' };
    });
    setup.onLoad({ filter: /@h5web\/app\/dist\/index\.js$/ }, ({ path }) => {
      const source = patched(readFileSync(path, 'utf8'), '@h5web/app');
      patchIntegers(source);
      patchFrames(source);
      patchTabs(source);
      patchWidth(source);
      return { contents: `import { followed, showPath } from ${frames};\n${source.text}`, loader: 'js' };
    });
    // The chosen item looks so in both kinds of groups.
    setup.onLoad({ filter: /@h5web\/\w+\/dist\/styles\.css$/ }, ({ path }) => (
      { contents: readFileSync(path, 'utf8').replaceAll('[aria-checked=true]', ':is([aria-checked=true],[role=tab][aria-selected=true])'), loader: 'css' }));
  },
};

const result = await build({
  entryPoints: [join(here, 'page.jsx')],
  nodePaths: [modules],
  alias: { '@h5web/lib': library, ndarray: join(here, 'ndarray.mjs'), 'ndarray-ops': join(here, 'ndarray.mjs') },
  plugins: [own],
  bundle: true,
  minify: true,
  write: false,
  metafile: true,
  format: 'esm',
  target: 'es2022',
  jsx: 'automatic',
  legalComments: 'none',
  define: { 'process.env.NODE_ENV': '"production"' },
  outdir: output,
  logLevel: 'warning',
});

// The words of each bundled package on its licence.
const packages = new Set();
for (const input of Object.keys(result.metafile.inputs)) {
  const found = /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//u.exec(resolve(input));
  if (found) {
    packages.add(found[1]);
  }
}
const licenses = [...packages].sort().map((place) => {
  const { name, version, license } = JSON.parse(readFileSync(join(place, 'package.json'), 'utf8'));
  const file = ['LICENSE', 'LICENSE.md', 'license', 'LICENSE.txt', 'LICENCE', 'License'].find((candidate) => {
    try {
      return readFileSync(join(place, candidate));
    } catch {
      return false;
    }
  });
  return `${name} ${version} (${license})\n\n${file ? readFileSync(join(place, file), 'utf8').trim() : ''}\n`;
});

const write = (name, content) => writeFileSync(join(output, `${name}.gz`), gzipSync(content, { level: 9 }));
for (const file of result.outputFiles) {
  write(file.path.endsWith('.css') ? 'page.css' : 'page.js', file.contents);
}
write('licenses.txt', licenses.join(`\n${'-'.repeat(80)}\n\n`));
