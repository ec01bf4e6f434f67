import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { parseArgs, stripVTControlCharacters } from 'node:util'
import { readArguments } from '../src/platform/process/read-command.ts'
import { createRandom } from '../test/support/random.ts'
import { formatSlowestFiles, readSlowFile, SLOWEST_FILES_TITLE } from '../test/support/slowest-files.ts'
import { ALONE, CITUS_FILES } from './citus-test-files.ts'

const [COMMAND, TESTS] = process.argv.includes('--citus')
  ? ['npm run test:citus', 'the tests of the main flows on the cluster of Citus whose URL is TEST_CITUS_URL']
  : ['npm test', 'all tests']
const USAGE = `Usage: ${COMMAND} [-- --bail] [-- --grep <pattern>] [-- --seed <number>]
Runs ${TESTS}, or those of them whose title matches the pattern.
With --bail it ends with the first failure. With --seed the files run in the random order of that number, which shows
tests that depend on the order. For the tests of one file: npx mocha <file>`

/** Processes side by side: one more than processors, as tests often wait. Those of a cluster of Citus share it. */
const PROCESSES_MAX = Math.min(3, availableParallelism() + 1)
const PROCESSES_OF_CITUS = 2
/**
 * Processes in all for one side by side. The one that ends last runs alone for a while, which is shorter the less it has to
 * do; each takes ten seconds to load the code and to create its database, and twenty on Citus.
 */
const PARTS_OF_PROCESS = 4
const PARTS_OF_PROCESS_OF_CITUS = 2
/** A browser keeps all processors busy, so these files run one after the other. */
const WITH_BROWSER = join('test/integration/console/')
const OPTIONS = {
  help: { type: 'boolean', short: 'h' },
  citus: { type: 'boolean', default: false },
  bail: { type: 'boolean' },
  grep: { type: 'string' },
  seed: { type: 'string' },
} as const
const MOCHA = 'node_modules/mocha/bin/mocha.js'

const values = readArguments(USAGE, (args) => {
  const { values } = parseArgs({ args, options: OPTIONS })
  if (values.help) return undefined
  if (!Number.isSafeInteger(Number(values.seed ?? 0))) throw new Error(`The seed "${values.seed}" is no whole number`)
  return values
})
const isBail = values.bail === true
const options = [...(isBail ? ['--bail'] : []), ...(values.grep === undefined ? [] : ['--grep', values.grep])]
const [processes, partsOfProcess] = values.citus
  ? [PROCESSES_OF_CITUS, PARTS_OF_PROCESS_OF_CITUS]
  : [PROCESSES_MAX, PARTS_OF_PROCESS]
const { files, alone } = listFiles()
const ordered = orderFiles(files)
const withBrowser = ordered.filter((name) => name.startsWith(WITH_BROWSER))
const others = ordered.filter((name) => !name.startsWith(WITH_BROWSER))
const parts = [...(withBrowser.length > 0 ? [withBrowser] : []), ...toParts(others, processes * partsOfProcess)]
const running = new Set<ChildProcess>()
let isStopped = false
const totals = new Map<string, number>([
  ['passing', 0],
  ['failing', 0],
])
const slowFiles = new Map<string, number>()
const failures: string[] = []
const startedAt = performance.now()

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stopAll())
const waiting = parts.values()
const codes = (await Promise.all(Array.from({ length: processes }, runParts))).flat()
if (alone.length > 0 && !isStopped) codes.push(await runPart(alone))
const minutes = Math.round((performance.now() - startedAt) / 60_000)
process.stdout.write(`\nIn all processes, in ${minutes} min:\n`)
for (const [result, count] of totals) process.stdout.write(`  ${count} ${result}\n`)
process.stdout.write(`\n${formatSlowestFiles(slowFiles)}`)
if (failures.length > 0) process.stdout.write(`\nFailures:\n${failures.join('\n')}\n`)
process.exitCode = codes.find((code) => code !== 0) ?? (isStopped ? 1 : 0)

/** Lists the test files, and those that run after the others, alone. */
function listFiles(): { files: string[]; alone: string[] } {
  const all = readdirSync('test', { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => join('test', name))
    .toSorted()
  if (!values.citus) return { files: all, alone: [] }
  const toPaths = (names: string[]) => names.map((name) => join('test/integration', `${name}.test.ts`))
  const [chosen, alone] = [toPaths(CITUS_FILES), toPaths(ALONE)]
  const ofCitus = join('test/integration/citus/')
  return {
    files: all.filter((name) => (chosen.includes(name) || name.startsWith(ofCitus)) && !alone.includes(name)),
    alone,
  }
}

/** Puts every n-th file into a part, so that each has some of every folder. */
function toParts(names: string[], count: number): string[][] {
  return Array.from({ length: count }, (_, index) => names.filter((_name, position) => position % count === index))
}

function orderFiles(names: string[]): string[] {
  if (values.seed === undefined) return names
  const random = createRandom(Number(values.seed))
  return names
    .map((name) => ({ name, place: random() }))
    .toSorted((a, b) => a.place - b.place)
    .map(({ name }) => name)
}

/** Runs parts that no other process has begun, until all are done or `--bail` has ended one. */
async function runParts(): Promise<number[]> {
  const codes: number[] = []
  for (const part of waiting) {
    codes.push(await runPart(part))
    if (isStopped) break
  }
  return codes
}

async function runPart(part: string[]): Promise<number> {
  const child = spawn(process.execPath, [MOCHA, ...options, ...part], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...(process.stdout.isTTY ? { FORCE_COLOR: '1' } : {}) },
  })
  running.add(child)
  const closed = once(child, 'close')
  let block = ''
  let isInFailures = false
  // What the processes print is mixed by suites, not by lines.
  for await (const line of createInterface(child.stdout)) {
    block += `${line}\n`
    const text = stripVTControlCharacters(line)
    const slowFile = readSlowFile(text)
    if (slowFile) slowFiles.set(...slowFile)
    // Mocha prints the errors after the number of failing tests, up to the slowest files of our reporter.
    if (text.trim() === SLOWEST_FILES_TITLE) isInFailures = false
    if (isInFailures) failures.push(line)
    const [, count, result] = /^\s*(\d+) (passing|failing|pending)\b/.exec(text) ?? []
    if (result !== undefined) totals.set(result, (totals.get(result) ?? 0) + Number(count))
    if (result === 'failing') isInFailures = true
    if (line === '') block = flush(block)
  }
  flush(block)
  const [code] = await closed
  running.delete(child)
  if (code !== 0 && isBail) stopAll()
  return code ?? 1
}

function flush(block: string): string {
  process.stdout.write(block)
  return ''
}

function stopAll(): void {
  isStopped = true
  for (const child of running) child.kill('SIGTERM')
}
