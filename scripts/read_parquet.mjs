// Prints the rows of a Parquet file as lines of JSON: integers and bytes (in hexadecimal) as strings, and what
// JSON lacks by name. For scripts/compare_parquet.py.
//   node scripts/read_parquet.mjs duckdb|hyparquet FILE
// Needs `npm install @duckdb/node-api hyparquet` in a directory that NODE_PACKAGES names (the current one).
import {createRequire} from 'node:module';
import {pathToFileURL} from 'node:url';
import {resolve} from 'node:path';

const [reader, file] = process.argv.slice(2);
const require = createRequire(resolve(process.env.NODE_PACKAGES ?? '.', 'package.json'));
const load = name => import(pathToFileURL(require.resolve(name)));

function shown(value) {
  if (value === null || value === undefined) return null;
  if (typeof value === 'bigint') return String(value);
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value);
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex');
  if (value.bytes instanceof Uint8Array) return Buffer.from(value.bytes).toString('hex');
  return value;
}

async function* withDuckdb() {
  const {DuckDBInstance} = await load('@duckdb/node-api');
  const connection = await (await DuckDBInstance.create()).connect();
  const result = await connection.stream(`SELECT * FROM read_parquet('${file.replaceAll("'", "''")}')`);
  yield result.columnNames();
  for (let chunk; (chunk = await result.fetchChunk()) && chunk.rowCount > 0;) yield* chunk.getRows();
}

async function* withHyparquet() {
  const {asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects} = await load('hyparquet');
  const buffer = await asyncBufferFromFile(file);
  const names = (await parquetMetadataAsync(buffer)).schema.slice(1).map(column => column.name);
  yield names;
  for (const row of await parquetReadObjects({file: buffer, utf8: false})) yield names.map(name => row[name]);
}

for await (const row of reader === 'duckdb' ? withDuckdb() : withHyparquet())
  process.stdout.write(JSON.stringify(row.map(shown)) + '\n');
