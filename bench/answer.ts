import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { type CpuCost, measureCpuCost, totalCpu } from './cpu-cost.ts'
import { hasPendingWork, toEnvironment, withTempDatabase } from './database.ts'
import { COST_COLUMNS, formatCostRow, formatTable } from './format.ts'
import { FOUR_STEP_WORKFLOW } from './four-step-workflow.ts'
import { BenchClient } from './http-client.ts'
import { runConcurrently } from './run-concurrently.ts'
import { startServer } from './server-process.ts'
import { formatSpread } from './stats.ts'

const ROUNDS = 5
const MESSAGES = 600
const CONCURRENCY = 32
const CONTACTS = 300

/** Measures messages that one process answers end to end, compared with storing the same messages only. */
export async function benchAnswer(): Promise<string[]> {
  return withTempDatabase(async (benchDatabase) => {
    const { url, postmasterPid } = benchDatabase
    const parley = await startServer('./parley-server.ts', toEnvironment(benchDatabase))
    const client = new BenchClient(parley.url, CONCURRENCY)
    await client.signUp()
    const { id } = await client.post<{ id: string }>('/api/workflows', { name: 'Four', definition: FOUR_STEP_WORKFLOW })
    const database = new pg.Client({ connectionString: url })
    await database.connect()
    const runRound = () =>
      measureCpuCost({ pids: [parley.pid], postmasterPid, count: MESSAGES }, async () => {
        await sendMessages(client)
        while (await hasPendingWork(database)) await delay(5)
      })
    await runRound()
    const storeCosts: CpuCost[] = []
    const answerCosts: CpuCost[] = []
    for (let round = 0; round < ROUNDS; round += 1) {
      storeCosts.push(await runRound())
      await client.post(`/api/workflows/${id}/publish`, {})
      answerCosts.push(await runRound())
      await client.post(`/api/workflows/${id}/unpublish`, {})
    }
    const counts = await describeAnswers(database)
    await database.end()
    await parley.stop()
    return formatReport(storeCosts, answerCosts, counts)
  })
}

function sendMessages(client: BenchClient): Promise<void> {
  return runConcurrently(MESSAGES, CONCURRENCY, async (index) => {
    const phone = `+4915100${String(index % CONTACTS).padStart(5, '0')}`
    await client.post('/api/sandbox/messages', { phone, body: `hi ${index}` })
  })
}

/** Describes the stored answers and runs, as evidence that the messages were answered. */
async function describeAnswers(database: pg.Client): Promise<string> {
  const { rows } = await database.query<{ answers: number; runs: number }>(
    `select (select count(*)::int from messages where direction = 'outbound' and status = 'delivered') as answers,
       (select count(*)::int from runs where status = 'completed') as runs`,
  )
  return `${rows[0]?.answers ?? 0} answers and ${rows[0]?.runs ?? 0} runs for ${ROUNDS * MESSAGES} messages`
}

function formatReport(storeCosts: CpuCost[], answerCosts: CpuCost[], counts: string): string[] {
  const ratios = answerCosts.map((cost, round) => totalCpu(storeCosts[round] as CpuCost) / totalCpu(cost))
  return [
    `Inbound messages through REST, concurrency ${CONCURRENCY}, ${ROUNDS} interleaved rounds of ${MESSAGES}; median (range); ${counts}`,
    ...formatTable([
      ['variant', ...COST_COLUMNS],
      formatCostRow('stored only', storeCosts),
      formatCostRow('stored and answered in four steps', answerCosts),
    ]),
    `stored only ÷ answered, total CPU: ${formatSpread(ratios)}`,
  ]
}
