import { setTimeout as delay } from 'node:timers/promises'
import { ECHO, schemaDefinition } from '../test/support/expensive-definitions.ts'
import { toEnvironment, withTempDatabase } from './database.ts'
import { formatLoadAverage, formatTable } from './format.ts'
import { BenchClient } from './http-client.ts'
import { startServer } from './server-process.ts'
import { formatSpread, percentile } from './stats.ts'

const INTERVAL_MS = 100
/** Requests that each attacker has in flight. */
const CONCURRENCY = 4
const VICTIMS = 10

type Size = { workspaces: number; rounds: number; seconds: number }
type Phase = { waits: number[]; failures: number }

/**
 * Measures how long workspaces wait for the validation of a small definition while others validate definitions that use
 * up the whole deadline, from the first of these on, compared with the same immediately before.
 */
export async function benchCompute(options: Partial<Size> = {}): Promise<string[]> {
  const size = { workspaces: 16, rounds: 3, seconds: 20, ...options }
  return withTempDatabase(async (database) => {
    const initialLoad = formatLoadAverage()
    const server = await startServer('./parley-server.ts', toEnvironment(database))
    const calm: Phase[] = []
    const attacked: Phase[] = []
    let attacks = 0
    for (let round = 0; round < size.rounds; round += 1) {
      calm.push(await measure(await signUp(server.url, VICTIMS), size.seconds))
      // None of them has used a thread before.
      const victims = await signUp(server.url, VICTIMS)
      const attack = startAttack(await signUp(server.url, size.workspaces))
      attacked.push(await measure(victims, size.seconds))
      attacks += await attack.stop()
    }
    await server.stop()
    return [...formatReport({ calm, attacked, attacks }, size), `${initialLoad} before, ${formatLoadAverage()} after`]
  })
}

function formatReport(
  { calm, attacked, attacks }: { calm: Phase[]; attacked: Phase[]; attacks: number },
  { workspaces, rounds, seconds }: Size,
): string[] {
  const row = (name: string, phases: Phase[]) => [
    name,
    ...[50, 99, 100].map((percent) =>
      formatSpread(
        phases.map(({ waits }) => percentile(waits, percent)),
        0,
      ),
    ),
    String(phases.reduce((sum, { failures }) => sum + failures, 0)),
    String(phases.reduce((sum, { waits }) => sum + waits.length, 0)),
  ]
  return [
    `POST /api/workflows/validate by ${VICTIMS} workspaces in turn, ${INTERVAL_MS} ms after each answer, for ${seconds} s; ms, median (range) of ${rounds} rounds`,
    ...formatTable([
      ['', 'p50', 'p99', 'max', 'failures', 'requests'],
      row('calm', calm),
      row(`${workspaces} workspaces attack, ${CONCURRENCY} requests each`, attacked),
    ]),
    `${attacks} requests of the attackers were answered`,
  ]
}

async function signUp(url: string, count: number): Promise<BenchClient[]> {
  const clients = Array.from({ length: count }, () => new BenchClient(url, CONCURRENCY))
  for (const client of clients) await client.signUp()
  return clients
}

async function measure(victims: BenchClient[], seconds: number): Promise<Phase> {
  const phase: Phase = { waits: [], failures: 0 }
  const endMs = performance.now() + seconds * 1000
  for (let index = 0; performance.now() < endMs; index += 1) {
    const startMs = performance.now()
    await victims[index % victims.length]?.post('/api/workflows/validate', { definition: ECHO }).catch(() => {
      phase.failures += 1
    })
    phase.waits.push(performance.now() - startMs)
    await delay(INTERVAL_MS)
  }
  return phase
}

/** Keeps requests of all attackers in flight; `stop` returns the number of those that were answered. */
function startAttack(attackers: BenchClient[]): { stop: () => Promise<number> } {
  const state = { isOver: false, answers: 0 }
  const repeat = async (attacker: BenchClient) => {
    while (!state.isOver) {
      await attacker
        .post('/api/workflows/validate', { definition: schemaDefinition() })
        // A full queue is answered at once.
        .catch((error: unknown) => (String(error).includes('returned 503') ? delay(1000) : undefined))
      state.answers += 1
    }
  }
  const loops = attackers.flatMap((attacker) => Array.from({ length: CONCURRENCY }, () => repeat(attacker)))
  return {
    async stop() {
      state.isOver = true
      await Promise.all(loops)
      return state.answers
    },
  }
}
