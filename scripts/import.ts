import { readCommand } from '../src/platform/process/read-command.ts'
import { importFromFile } from '../src/cli/transfer.ts'

const USAGE = `Usage: npm run import -- <file>
Reads a file of "npm run export" into the configured database, which must be empty.`

const { positionals } = readCommand(USAGE, { names: ['file'] })
await importFromFile(positionals[0] ?? '')
