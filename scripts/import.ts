import { importFromFile } from './transfer.ts'

/** Reads a file of `npm run export` into the configured database: `npm run import -- <file>`. It must be empty. */
const [file] = process.argv.slice(2)
if (file !== undefined) await importFromFile(file)
else {
  process.stderr.write('Name the file to read: npm run import -- parley.export\n')
  process.exitCode = 1
}
