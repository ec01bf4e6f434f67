import { readFileSync, writeFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { toEnvironment, withTempDatabase } from './database.ts'
import { formatLoadAverage, formatTable } from './format.ts'
import { BenchClient } from './http-client.ts'
import { startServer } from './server-process.ts'
import { type Attack, prepareAttacks } from './stall-attacks.ts'
import { percentile } from './stats.ts'

const CALM_MS = 5000
const INTERVAL_MS = 10

type Size = { rounds: number }
type Round = { calmMs: number; attackMs: number; durationMs: number; peakMb: number; outcome: string }

/**
 * Measures the longest wait of a client while another workspace of the same process sends inputs that are expensive to
 * check, compile or execute, compared with its longest wait immediately before.
 */
export async function benchStall(options: Partial<Size> = {}): Promise<string[]> {
  const { rounds } = { rounds: 3, ...options }
  return withTempDatabase(async (database) => {
    const initialLoad = formatLoadAverage()
    const environment = { ...toEnvironment(database), ALLOW_LOOPBACK_CHANNELS: 'true' }
    const server = await startServer('./parley-server.ts', environment)
    const victim = new BenchClient(server.url, 1)
    await victim.signUp()
    const { attacks, stop } = await prepareAttacks(server.url)
    const results = new Map<Attack, Round[]>(attacks.map((attack) => [attack, []]))
    for (let round = 0; round < rounds; round += 1) {
      for (const [attack, measured] of results) measured.push(await measureRound(attack, victim, server.pid))
    }
    await stop()
    await server.stop()
    return [...formatReport(results, rounds), `${initialLoad} before, ${formatLoadAverage()} after`]
  })
}

function formatReport(results: Map<Attack, Round[]>, rounds: number): string[] {
  const worst = (measured: Round[], read: (round: Round) => number) => Math.max(...measured.map(read))
  return [
    `GET /api/contacts every ${INTERVAL_MS} ms; ${CALM_MS / 1000} s without an attack before each attack; the worst of ${rounds} rounds`,
    ...formatTable([
      [
        'attack',
        'longest wait, calm ms',
        'longest wait, attack ms',
        'attack ÷ calm',
        'attack took ms',
        'peak RSS MB',
        'outcome',
      ],
      ...[...results].map(([{ name }, measured]) => [
        name,
        worst(measured, ({ calmMs }) => calmMs).toFixed(0),
        worst(measured, ({ attackMs }) => attackMs).toFixed(0),
        worst(measured, ({ attackMs, calmMs }) => attackMs / calmMs).toFixed(1),
        worst(measured, ({ durationMs }) => durationMs).toFixed(0),
        worst(measured, ({ peakMb }) => peakMb).toFixed(0),
        [...new Set(measured.map(({ outcome }) => outcome))].join(', '),
      ]),
    ]),
  ]
}

async function measureRound(attack: Attack, victim: BenchClient, pid: number): Promise<Round> {
  const calmMs = await measureLongestWait(victim, delay(CALM_MS))
  resetPeak(pid)
  const startMs = performance.now()
  const execution = attack.execute()
  const attackMs = await measureLongestWait(victim, execution)
  const durationMs = performance.now() - startMs
  return { calmMs, attackMs, durationMs, peakMb: readPeakMb(pid), outcome: await execution }
}

/** Sends requests one after the other until then, and returns the duration of the slowest one. */
async function measureLongestWait(client: BenchClient, until: Promise<unknown>): Promise<number> {
  const state = { isOver: false }
  const end = () => (state.isOver = true)
  until.then(end, end)
  const waits: number[] = []
  while (!state.isOver) {
    const startMs = performance.now()
    await client.get('/api/contacts?limit=20')
    waits.push(performance.now() - startMs)
    await delay(INTERVAL_MS)
  }
  return percentile(waits, 100)
}

function resetPeak(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, '5')
}

function readPeakMb(pid: number): number {
  const [, kb = Number.NaN] = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kb) / 1024
}
