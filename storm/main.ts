import { readOptions, USAGE } from './read-options.ts'
import { tell, violationsOf } from './report.ts'
import { runStorm } from './run-storm.ts'

const print = (line: string) => process.stdout.write(`${line}\n`)

function readOrRefuse() {
  try {
    return readOptions(process.argv.slice(2))
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}\n`)
    process.exit(2)
  }
}

const size = readOrRefuse()
if (!size) {
  print(USAGE)
  process.exit(0)
}
const report = await runStorm({ ...size, progress: print })
tell(report).forEach(print)
process.exit(violationsOf(report).length === 0 ? 0 : 1)
