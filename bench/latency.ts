import { setTimeout as delay } from 'node:timers/promises'
import { BenchCaller } from './caller.ts'
import { environmentOf, withThrowAwayDatabase } from './database.ts'
import { FOUR_STEPS } from './four-steps.ts'
import { inParallel, loadOfMachine, percentile, spread, table } from './measure.ts'
import { BenchNumber, BenchProvider } from './number.ts'
import { startServer } from './servers.ts'
import { phoneOf } from './workspaces.ts'

const WIDTH = 100
const PEAKS = 3

type Size = { workspaces: number; messages: number; seconds: number }

/**
 * How long a person waits: from the 200 that a webhook gets to the moment at which the provider is given the answer, at
 * a third of what one process can take. Webhooks come when they come, whether or not earlier ones were answered.
 */
export function benchLatency(given: Partial<Size> = {}): Promise<string[]> {
  const { workspaces, messages, seconds } = { workspaces: 20, messages: 2000, seconds: 20, ...given }
  const load = loadOfMachine()
  return withThrowAwayDatabase(async (database) => {
    const provider = new BenchProvider()
    const baseUrl = await provider.open()
    const parley = await startServer('./parley-server.ts', {
      ...environmentOf(database),
      ALLOW_LOOPBACK_CHANNELS: 'true',
    })
    const numbers: BenchNumber[] = []
    for (let number = 0; number < workspaces; number += 1) {
      numbers.push(await openNumber(parley.url, number, baseUrl))
    }
    const crowd = new Crowd(numbers, provider)
    // The first time everybody is a stranger, and everything is cold.
    await crowd.writeAtOnce(messages)
    const peaks: number[] = []
    for (let n = 0; n < PEAKS; n += 1) peaks.push(await crowd.writeAtOnce(messages))
    const perSecond = percentile(peaks, 50) / 3
    const waits = await crowd.writeSteadily(perSecond, seconds)
    await parley.stop()
    provider.close()
    return [...report({ workspaces, peaks, perSecond, seconds, waits }), `${load} before, ${loadOfMachine()} after`]
  })
}

type Wait = { stored: number; answered: number }
type Measured = { workspaces: number; peaks: number[]; perSecond: number; seconds: number; waits: Wait[] }

function report({ workspaces, peaks, perSecond, seconds, waits }: Measured): string[] {
  const row = (name: string, pick: (wait: Wait) => number) => [
    name,
    ...[50, 95, 99, 100].map((percent) => percentile(waits.map(pick), percent).toFixed(1)),
  ]
  return [
    `Webhooks of ${workspaces} numbers answered in four steps by one process; peak ${spread(peaks, 0)} per second, ${WIDTH} at a time`,
    `then ${perSecond.toFixed(0)} per second at random moments for ${seconds} s, ${waits.length} messages:`,
    ...table([
      ['ms', 'p50', 'p95', 'p99', 'max'],
      row('webhook sent → 200', ({ stored }) => stored),
      row('200 → the provider has the answer', ({ answered }) => answered),
    ]),
  ]
}

async function openNumber(url: string, number: number, baseUrl: string): Promise<BenchNumber> {
  const caller = new BenchCaller(url, WIDTH)
  await caller.signUp()
  const { id } = await caller.post<{ id: string }>('/api/workflows', { name: 'Four', definition: FOUR_STEPS })
  await caller.post(`/api/workflows/${id}/publish`, {})
  return BenchNumber.connect(caller, number, baseUrl)
}

/** People who write, none of them twice before being answered. */
class Crowd {
  readonly #numbers: BenchNumber[]
  readonly #provider: BenchProvider

  constructor(numbers: BenchNumber[], provider: BenchProvider) {
    this.#numbers = numbers
    this.#provider = provider
  }

  /** As fast as it goes; answers how many were answered per second. */
  async writeAtOnce(count: number): Promise<number> {
    this.#provider.answeredAt.length = 0
    const began = performance.now()
    await inParallel(count, WIDTH, (n) => this.#write(n))
    await this.#whenAnswered(count)
    return count / ((performance.now() - began) / 1000)
  }

  async writeSteadily(perSecond: number, seconds: number): Promise<Wait[]> {
    this.#provider.answeredAt.length = 0
    const acknowledged = new Map<string, { began: number; at: number }>()
    const writing: Promise<void>[] = []
    const start = performance.now()
    for (let due = start, n = 0; due < start + seconds * 1000; n += 1) {
      // Gaps between independent arrivals are distributed so.
      due += (-Math.log(1 - Math.random()) / perSecond) * 1000
      const wait = due - performance.now()
      if (wait > 1) await delay(wait)
      const began = performance.now()
      const phone = this.#phoneOf(n)
      writing.push(this.#write(n).then(() => void acknowledged.set(phone, { began, at: performance.now() })))
    }
    await Promise.all(writing)
    await this.#whenAnswered(writing.length)
    return this.#provider.answeredAt.flatMap(({ phone, at }) => {
      const call = acknowledged.get(phone)
      return call ? [{ stored: call.at - call.began, answered: Math.max(0, at - call.at) }] : []
    })
  }

  #write(n: number): Promise<void> {
    const number = this.#numbers[n % this.#numbers.length] as BenchNumber
    return number.receive(this.#phoneOf(n), `hi ${n}`)
  }

  #phoneOf(n: number): string {
    return phoneOf(n % this.#numbers.length, n)
  }

  async #whenAnswered(count: number): Promise<void> {
    while (this.#provider.answeredAt.length < count) await delay(5)
  }
}
