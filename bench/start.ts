import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { readCpuMs, readMemoryMb } from './cpu-cost.ts'
import { toEnvironment, withTempDatabase } from './database.ts'
import { formatLoadAverage, formatTable } from './format.ts'
import { formatSpread } from './stats.ts'

const COMPILED = fileURLToPath(new URL('../dist/main.js', import.meta.url))
/** Time after which a process that is ready is measured, so that what it defers is counted as well. */
const SETTLE_MS = 1000

type Start = { cpuMs: number; readyMs: number; memoryMb: number }

/** Measures the start of the compiled program on a migrated database, until it is ready. */
export async function benchStart(options: Partial<{ rounds: number }> = {}): Promise<string[]> {
  const { rounds } = { rounds: 7, ...options }
  if (!existsSync(COMPILED)) throw new Error('dist/main.js is missing. Run `npm run build` first')
  return withTempDatabase(async (database) => {
    const initialLoad = formatLoadAverage()
    const environment = toEnvironment(database)
    // The first start migrates.
    await measureStart(environment)
    const starts: Start[] = []
    for (let round = 0; round < rounds; round += 1) starts.push(await measureStart(environment))
    const spread = (toNumber: (start: Start) => number) => formatSpread(starts.map(toNumber), 0)
    return [
      `node dist/main.js with both roles on an existing database; ${rounds} starts; median (range)`,
      ...formatTable([
        ['CPU ms', 'ms until ready', 'memory MB'],
        [spread(({ cpuMs }) => cpuMs), spread(({ readyMs }) => readyMs), spread(({ memoryMb }) => memoryMb)],
      ]),
      `${initialLoad} before, ${formatLoadAverage()} after`,
    ]
  })
}

async function measureStart(environment: Record<string, string>): Promise<Start> {
  const startMs = performance.now()
  const child = spawn(process.execPath, [COMPILED], {
    env: { ...process.env, ...environment, LOG_FORMAT: 'json' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  try {
    const url = await readUrl(child)
    while (!(await fetch(`${url}/readyz`)).ok) await delay(5)
    const readyMs = performance.now() - startMs
    await delay(SETTLE_MS)
    const pid = child.pid ?? 0
    return { cpuMs: readCpuMs(pid), readyMs, memoryMb: readMemoryMb(pid) }
  } finally {
    const exited = once(child, 'exit')
    child.kill('SIGTERM')
    await exited
  }
}

async function readUrl({ stdout }: ChildProcess): Promise<string> {
  let text = ''
  for await (const chunk of stdout?.iterator({ destroyOnReturn: false }) ?? []) {
    text += String(chunk)
    const [url] = /http:\/\/[\w.]+:\d+/.exec(text) ?? []
    if (url) {
      stdout?.resume()
      return url
    }
  }
  throw new Error(`The process ended before it was ready: ${text}`)
}
