import { expect } from 'chai'
import { FairScheduler } from '../../../src/platform/jobs/fair-scheduler.ts'
import { waitUntil } from '../../support/wait-until.ts'

/** A backlog of tasks by key; started tasks finish when the test finishes them. */
class Backlog {
  readonly remaining: Record<string, number>
  readonly started: string[] = []
  readonly #running: (() => void)[] = []

  constructor(remaining: Record<string, number>) {
    this.remaining = remaining
  }

  take = async (key: string, limit: number): Promise<(() => Promise<void>)[]> => {
    const count = Math.min(this.remaining[key] ?? 0, limit)
    this.remaining[key] = (this.remaining[key] ?? 0) - count
    return Array.from({ length: count }, () => () => {
      this.started.push(key)
      return new Promise<void>((resolve) => this.#running.push(resolve))
    })
  }

  get running(): number {
    return this.#running.length
  }

  finish(count = 1): void {
    for (const end of this.#running.splice(0, count)) end()
  }
}

describe('FairScheduler', () => {
  it('completes the whole backlog within the concurrency limit', async () => {
    const backlog = new Backlog({ a: 23 })
    const scheduler = new FairScheduler({ max: 5, maxPerKey: 5, take: backlog.take })
    let isDone = false
    const done = scheduler.schedule('a').then(() => (isDone = true))
    while (backlog.remaining['a'] !== 0) {
      await waitUntil(() => backlog.running === 5)
      expect(isDone).to.equal(false)
      backlog.finish()
      await waitUntil(() => backlog.running === 5)
    }
    await waitUntil(() => backlog.started.length === 23)
    backlog.finish(4)
    await Promise.resolve()
    expect(isDone).to.equal(false)
    backlog.finish()
    await done
    expect(backlog.remaining).to.deep.equal({ a: 0 })
  })

  it('leaves capacity for other keys when one key has a large backlog', async () => {
    const backlog = new Backlog({ flood: 1000, drop: 1 })
    const scheduler = new FairScheduler({ max: 10, maxPerKey: 4, take: backlog.take })
    const first = scheduler.schedule('flood')
    await waitUntil(() => backlog.running === 4)
    await scheduler.schedule('drop')
    await waitUntil(() => backlog.started.includes('drop'))
    expect(backlog.started).to.have.length(5)
    backlog.remaining['flood'] = 0
    backlog.finish(5)
    await first
  })

  it('serves waiting keys in round-robin order', async () => {
    const backlog = new Backlog({ a: 100, b: 100, c: 100 })
    const scheduler = new FairScheduler({ max: 1, maxPerKey: 1, take: backlog.take })
    const done = scheduler.schedule('a')
    await Promise.all([scheduler.schedule('b'), scheduler.schedule('c')])
    for (let count = 1; count <= 9; count += 1) {
      await waitUntil(() => backlog.started.length === count)
      if (count === 9) Object.assign(backlog.remaining, { a: 0, b: 0, c: 0 })
      backlog.finish()
    }
    await done
    expect(backlog.started.join('')).to.equal('abcabcabc')
  })

  it('starts new tasks of a key while earlier ones are running', async () => {
    const backlog = new Backlog({ a: 1 })
    const scheduler = new FairScheduler({ max: 10, maxPerKey: 4, take: backlog.take })
    const done = scheduler.schedule('a')
    await waitUntil(() => backlog.running === 1)
    backlog.remaining['a'] = 1
    await scheduler.schedule('a')
    await waitUntil(() => backlog.running === 2)
    backlog.finish(2)
    await done
  })

  it('recovers after taking tasks has failed', async () => {
    const backlog = new Backlog({ a: 1 })
    let fails = true
    const take = (key: string, limit: number) => (fails ? Promise.reject(new Error('away')) : backlog.take(key, limit))
    const scheduler = new FairScheduler({ max: 1, maxPerKey: 1, take })
    expect(await scheduler.schedule('a').catch((error: Error) => error.message)).to.equal('away')
    fails = false
    const done = scheduler.schedule('a')
    await waitUntil(() => backlog.running === 1)
    backlog.finish()
    await done
  })
})
