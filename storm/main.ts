import { parseArgs } from 'node:util'
import { tell, violationsOf } from './report.ts'
import { runStorm } from './run-storm.ts'

const { values } = parseArgs({
  options: {
    conversations: { type: 'string', default: '2000' },
    kills: { type: 'string', default: '200' },
    seed: { type: 'string', default: '1' },
    workers: { type: 'string', default: '3' },
    workspaces: { type: 'string', default: '3' },
    'patience-seconds': { type: 'string', default: '180' },
  },
})

const print = (line: string) => process.stdout.write(`${line}\n`)

const report = await runStorm({
  conversations: Number(values.conversations),
  kills: Number(values.kills),
  seed: Number(values.seed),
  workers: Number(values.workers),
  workspaces: Number(values.workspaces),
  patienceMs: Number(values['patience-seconds']) * 1000,
  progress: print,
})
tell(report).forEach(print)
process.exit(violationsOf(report).length === 0 ? 0 : 1)
