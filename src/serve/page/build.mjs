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

// H5Web's ticks have three digits: seconds since 1970 would all read alike, and be cut at
// its margin; no property of its application changes that. Below a plot longer ones have half as many places, and where an
// axis shows times, ticks are dates.
const digits = {
  name: 'digits',
  setup(setup) {
    setup.onLoad({ filter: /@h5web\/lib\/dist\/index\.js$/ }, ({ path }) => {
      let text = readFileSync(path, 'utf8');
      const replace = (pattern, replacement) => {
        if (!pattern.test(text)) {
          throw new Error(`@h5web/lib is not as it was: ${pattern}`);
        }
        text = text.replace(pattern, replacement);
      };
      replace(/(\w+) ?= ?3, ?(\w+ ?= ?\/0\\\.\(\\d\+\)\$\/u, ?\w+ ?= ?\w+\(`\.\$\{)\1\}~g`\)/u, (all) => all.replace(/\.\$\{\w+\}~g/u, '.12~g'));
      replace(/left: 80,(\s*)right: 24,/u, 'left: 112,$1right: 48,');
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
      return { contents: `import { timeAxis } from ${JSON.stringify(join(here, 'times.mjs'))};\n${text}`, loader: 'js' };
    });
  },
};

const result = await build({
  entryPoints: [join(here, 'page.jsx')],
  nodePaths: [modules],
  alias: { '@h5web/lib': library, ndarray: join(here, 'ndarray.mjs'), 'ndarray-ops': join(here, 'ndarray.mjs') },
  plugins: [digits],
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

// What each bundled package says of its licence.
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
