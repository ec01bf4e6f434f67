import { setTimeout as delay } from 'node:timers/promises'
import { toEnvironment, withTempDatabase } from './database.ts'
import { FakeProvider } from './fake-provider.ts'
import { formatLoadAverage, formatTable } from './format.ts'
import { FOUR_STEP_WORKFLOW } from './four-step-workflow.ts'
import { BenchClient } from './http-client.ts'
import { runConcurrently } from './run-concurrently.ts'
import { startServer } from './server-process.ts'
import { formatSpread, median, percentile } from './stats.ts'
import { WhatsAppNumber } from './whatsapp-number.ts'
import { toPhone } from './workspaces.ts'

const CONCURRENCY = 100
const PEAK_ROUNDS = 3
/** Messages of which each is sent when the one before is answered. */
const ALONE = 200

type Size = { workspaces: number; messages: number; seconds: number }

/**
 * Measures the time from the 200 response to a webhook until the provider receives the answer, at a third of the peak
 * throughput of one process. Webhooks arrive at random times, independently of earlier answers (an open workload). Then each
 * message is sent when the one before is answered.
 */
export function benchLatency(options: Partial<Size> = {}): Promise<string[]> {
  const { workspaces, messages, seconds } = { workspaces: 20, messages: 2000, seconds: 20, ...options }
  const initialLoad = formatLoadAverage()
  return withTempDatabase(async (database) => {
    const provider = new FakeProvider()
    const baseUrl = await provider.start()
    const parley = await startServer('./parley-server.ts', {
      ...toEnvironment(database),
      ALLOW_LOOPBACK_CHANNELS: 'true',
    })
    const numbers: WhatsAppNumber[] = []
    for (let index = 0; index < workspaces; index += 1) {
      numbers.push(await createNumber(parley.url, index, baseUrl))
    }
    const load = new LoadGenerator(numbers, provider)
    // The first round creates the contacts and warms up; it is not recorded.
    await load.runAtPeak(messages)
    const peaks: number[] = []
    for (let round = 0; round < PEAK_ROUNDS; round += 1) peaks.push(await load.runAtPeak(messages))
    const perSecond = median(peaks) / 3
    const latencies = await load.runAtRate(perSecond, seconds)
    const alone = await load.runAlone(ALONE)
    await parley.stop()
    provider.stop()
    return [
      ...formatReport({ workspaces, peaks, perSecond, seconds, latencies, alone }),
      `${initialLoad} before, ${formatLoadAverage()} after`,
    ]
  })
}

/** Times of one message, in ms: from the webhook to its 200 response, and from there to the answer at the provider. */
type Latency = { acknowledgedMs: number; answeredMs: number }
type Result = {
  workspaces: number
  peaks: number[]
  perSecond: number
  seconds: number
  latencies: Latency[]
  alone: Latency[]
}

function formatReport({ workspaces, peaks, perSecond, seconds, latencies, alone }: Result): string[] {
  const formatRow = (name: string, times: number[]) => [
    name,
    ...[50, 95, 99, 100].map((percent) => percentile(times, percent).toFixed(1)),
  ]
  const toTotal = ({ acknowledgedMs, answeredMs }: Latency) => acknowledgedMs + answeredMs
  return [
    `Webhooks of ${workspaces} numbers answered in four steps by one process; peak ${formatSpread(peaks, 0)} per second, concurrency ${CONCURRENCY}`,
    `Latency at ${perSecond.toFixed(0)} per second, random arrivals for ${seconds} s, ${latencies.length} messages:`,
    ...formatTable([
      ['ms', 'p50', 'p95', 'p99', 'max'],
      formatRow(
        'webhook sent → 200',
        latencies.map(({ acknowledgedMs }) => acknowledgedMs),
      ),
      formatRow(
        '200 → answer at the provider',
        latencies.map(({ answeredMs }) => answeredMs),
      ),
      formatRow('webhook sent → answer at the provider', latencies.map(toTotal)),
      formatRow('the same for a message alone', alone.map(toTotal)),
    ]),
  ]
}

export async function createNumber(url: string, index: number, baseUrl: string): Promise<WhatsAppNumber> {
  const client = new BenchClient(url, CONCURRENCY)
  await client.signUp()
  const { id } = await client.post<{ id: string }>('/api/workflows', { name: 'Four', definition: FOUR_STEP_WORKFLOW })
  await client.post(`/api/workflows/${id}/publish`, {})
  return WhatsAppNumber.connect(client, index, baseUrl)
}

/** Sends webhooks of different contacts, none of whom writes again before being answered. */
class LoadGenerator {
  readonly #numbers: WhatsAppNumber[]
  readonly #provider: FakeProvider

  constructor(numbers: WhatsAppNumber[], provider: FakeProvider) {
    this.#numbers = numbers
    this.#provider = provider
  }

  /** Sends as fast as possible and returns the number of messages answered per second. */
  async runAtPeak(count: number): Promise<number> {
    this.#provider.answers.length = 0
    const startMs = performance.now()
    await runConcurrently(count, CONCURRENCY, (index) => this.#send(index))
    await this.#waitForAnswers(count)
    return count / ((performance.now() - startMs) / 1000)
  }

  async runAlone(count: number): Promise<Latency[]> {
    const latencies: Latency[] = []
    for (let index = 0; index < count; index += 1) {
      this.#provider.answers.length = 0
      const sentMs = performance.now()
      await this.#send(index)
      const acknowledgedMs = performance.now()
      await this.#waitForAnswers(1)
      const answeredMs = Math.max(0, (this.#provider.answers[0]?.atMs ?? 0) - acknowledgedMs)
      latencies.push({ acknowledgedMs: acknowledgedMs - sentMs, answeredMs })
      // The outcome of the send is stored before the next message.
      await delay(20)
    }
    return latencies
  }

  async runAtRate(perSecond: number, seconds: number): Promise<Latency[]> {
    this.#provider.answers.length = 0
    const acknowledgements = new Map<string, { sentMs: number; acknowledgedMs: number }>()
    const sends: Promise<void>[] = []
    const startMs = performance.now()
    for (let dueMs = startMs, index = 0; dueMs < startMs + seconds * 1000; index += 1) {
      // Gaps between independent arrivals are exponentially distributed.
      dueMs += (-Math.log(1 - Math.random()) / perSecond) * 1000
      const waitMs = dueMs - performance.now()
      if (waitMs > 1) await delay(waitMs)
      const sentMs = performance.now()
      const phone = this.#toPhone(index)
      sends.push(
        this.#send(index).then(() => void acknowledgements.set(phone, { sentMs, acknowledgedMs: performance.now() })),
      )
    }
    await Promise.all(sends)
    await this.#waitForAnswers(sends.length)
    return this.#provider.answers.flatMap(({ phone, atMs }) => {
      const times = acknowledgements.get(phone)
      if (!times) return []
      const { sentMs, acknowledgedMs } = times
      return [{ acknowledgedMs: acknowledgedMs - sentMs, answeredMs: Math.max(0, atMs - acknowledgedMs) }]
    })
  }

  #send(index: number): Promise<void> {
    const number = this.#numbers[index % this.#numbers.length] as WhatsAppNumber
    return number.sendWebhook(this.#toPhone(index), `hi ${index}`)
  }

  #toPhone(index: number): string {
    return toPhone(index % this.#numbers.length, index)
  }

  async #waitForAnswers(count: number): Promise<void> {
    while (this.#provider.answers.length < count) await delay(5)
  }
}
