import { parseOptions, USAGE } from './parse-options.ts'
import { formatReport, listViolations } from './report.ts'
import { runChaos } from './run-chaos.ts'

const print = (line: string) => process.stdout.write(`${line}\n`)

function parseOptionsOrExit() {
  try {
    return parseOptions(process.argv.slice(2))
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}\n`)
    process.exit(2)
  }
}

const size = parseOptionsOrExit()
if (!size) {
  print(USAGE)
  process.exit(0)
}
const report = await runChaos({ ...size, onProgress: print })
formatReport(report).forEach(print)
process.exit(listViolations(report).length === 0 ? 0 : 1)
