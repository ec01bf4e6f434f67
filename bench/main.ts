import { readCommand } from '../src/platform/process/read-command.ts'
import { benchAccess } from './access.ts'
import { benchAnswer } from './answer.ts'
import { benchBroadcast } from './broadcast.ts'
import { benchBulk } from './bulk.ts'
import { benchCompute } from './compute.ts'
import { benchDistributed } from './distributed.ts'
import { benchEngine } from './engine.ts'
import { benchEngineHistory } from './engine-history.ts'
import { benchFairness } from './fairness.ts'
import { benchFollowers } from './followers.ts'
import { benchGrowth } from './growth.ts'
import { benchHttp } from './http.ts'
import { benchImport } from './import.ts'
import { benchLatency } from './latency.ts'
import { benchSoak } from './soak.ts'
import { benchStall } from './stall.ts'
import { benchStart } from './start.ts'
import { benchWaits } from './waits.ts'
import { benchWebhooks } from './webhooks.ts'

const BENCHES: Record<string, (size: Record<string, number>) => Promise<string[]>> = {
  http: benchHttp,
  access: benchAccess,
  bulk: benchBulk,
  broadcast: benchBroadcast,
  answer: benchAnswer,
  distributed: benchDistributed,
  engine: benchEngine,
  'engine-history': benchEngineHistory,
  'engine-latency': benchLatency,
  waits: benchWaits,
  webhooks: benchWebhooks,
  fairness: benchFairness,
  followers: benchFollowers,
  soak: benchSoak,
  stall: benchStall,
  compute: benchCompute,
  start: benchStart,
  growth: benchGrowth,
  import: benchImport,
}

const text = { type: 'string' } as const
const USAGE = `Usage: npm run bench -- <name> [options]
CONTRIBUTING.md says what each measures and which options it has.
Names: ${Object.keys(BENCHES).join(', ')}`

const { positionals, values } = readCommand(USAGE, {
  names: ['name'],
  options: {
    workspaces: text,
    backlog: text,
    rounds: text,
    runs: text,
    messages: text,
    seconds: text,
    waiting: text,
    recipients: text,
    large: text,
    followers: text,
    calls: text,
    endpoints: text,
    metrics: text,
  },
})
const bench = BENCHES[positionals[0] ?? '']
if (!bench) {
  process.stderr.write(`There is no benchmark "${positionals[0]}"\n\n${USAGE}\n`)
  process.exit(2)
}
const size = Object.fromEntries(Object.entries(values).map(([name, value]) => [name, Number(value)]))
process.stdout.write(`${(await bench(size)).join('\n')}\n`)
process.exit(0)
