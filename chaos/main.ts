import { readArguments } from '../src/platform/process/read-command.ts'
import { parseOptions, USAGE } from './parse-options.ts'
import { formatReport, listViolations } from './report.ts'
import { runChaos } from './run-chaos.ts'

const print = (line: string) => process.stdout.write(`${line}\n`)

const size = readArguments(USAGE, parseOptions)
const report = await runChaos({ ...size, onProgress: print })
formatReport(report).forEach(print)
process.exit(listViolations(report).length === 0 ? 0 : 1)
