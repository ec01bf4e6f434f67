import { readCommand } from '../src/platform/process/read-command.ts'
import { exportToFile } from '../src/cli/transfer.ts'

const USAGE = `Usage: npm run export -- <file>
Writes the configured database to a file. Parley may be running.`

const { positionals } = readCommand(USAGE, { names: ['file'] })
await exportToFile(positionals[0] ?? '')
