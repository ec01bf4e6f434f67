import { exportToFile } from './transfer.ts'

/** Writes the configured database to a file: `npm run export -- <file>`. Parley may be running. */
const [file] = process.argv.slice(2)
if (file !== undefined) await exportToFile(file)
else {
  process.stderr.write('Name the file to write: npm run export -- parley.export\n')
  process.exitCode = 1
}
