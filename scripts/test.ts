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

const USAGE = `Usage: npm test [-- --bail] [-- --grep <pattern>] [-- --seed <number>]
Runs all tests, or those whose title matches the pattern. With --bail it ends with the first failure. With --seed the
files run in the random order of that number, which shows tests that depend on the order.
For the tests of one file: npx mocha <file>`

/** Processes side by side, each with a database server of its own: one more than processors, as tests often wait. */
const PROCESSES = Math.min(3, availableParallelism() + 1)
/**
 * Processes in all. The one that ends last runs alone for a while, which is shorter the less it has to do; each takes ten
 * seconds to load the code and to create its database.
 */
const PARTS = PROCESSES * 4
const OPTIONS = {
  help: { type: 'boolean', short: 'h' },
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
const files = orderFiles(
  readdirSync('test', { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => join('test', name))
    .toSorted(),
)
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
const parts = Array.from({ length: PARTS }).keys()
const codes = (await Promise.all(Array.from({ length: PROCESSES }, runParts))).flat()
const minutes = Math.round((performance.now() - startedAt) / 60_000)
process.stdout.write(`\nIn all processes, in ${minutes} min:\n`)
for (const [result, count] of totals) process.stdout.write(`  ${count} ${result}\n`)
process.stdout.write(`\n${formatSlowestFiles(slowFiles)}`)
if (failures.length > 0) process.stdout.write(`\nFailures:\n${failures.join('\n')}\n`)
process.exitCode = codes.find((code) => code !== 0) ?? (isStopped ? 1 : 0)

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
  for (const index of parts) {
    codes.push(await runPart(index))
    if (isStopped) break
  }
  return codes
}

/** Runs every n-th file, so that each part has some of every folder. */
async function runPart(index: number): Promise<number> {
  const part = files.filter((_, position) => position % PARTS === index)
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
