import { expect } from 'chai'
import { FairScheduler } from '../../../src/platform/jobs/fair-scheduler.ts'
import { waitUntil } from '../../support/wait-until.ts'

/** Work that lies about by key, and is done when it is told to be. */
class Yard {
  readonly heaps: Record<string, number>
  readonly begun: string[] = []
  readonly #open: (() => void)[] = []

  constructor(heaps: Record<string, number>) {
    this.heaps = heaps
  }

  take = async (key: string, limit: number): Promise<(() => Promise<void>)[]> => {
    const taken = Math.min(this.heaps[key] ?? 0, limit)
    this.heaps[key] = (this.heaps[key] ?? 0) - taken
    return Array.from({ length: taken }, () => () => {
      this.begun.push(key)
      return new Promise<void>((resolve) => this.#open.push(resolve))
    })
  }

  get underWay(): number {
    return this.#open.length
  }

  finish(count = 1): void {
    for (const end of this.#open.splice(0, count)) end()
  }
}

describe('work that keys take turns at', () => {
  it('is done to the end, never more at once than allowed', async () => {
    const yard = new Yard({ a: 23 })
    const work = new FairScheduler({ max: 5, maxPerKey: 5, take: yard.take })
    let isDone = false
    const done = work.schedule('a').then(() => (isDone = true))
    while (yard.heaps['a'] !== 0) {
      await waitUntil(() => yard.underWay === 5)
      expect(isDone).to.equal(false)
      yard.finish()
      await waitUntil(() => yard.underWay === 5)
    }
    await waitUntil(() => yard.begun.length === 23)
    yard.finish(4)
    await Promise.resolve()
    expect(isDone).to.equal(false)
    yard.finish()
    await done
    expect(yard.heaps).to.deep.equal({ a: 0 })
  })

  it('leaves room for others, however much one has to do', async () => {
    const yard = new Yard({ flood: 1000, drop: 1 })
    const work = new FairScheduler({ max: 10, maxPerKey: 4, take: yard.take })
    const first = work.schedule('flood')
    await waitUntil(() => yard.underWay === 4)
    await work.schedule('drop')
    await waitUntil(() => yard.begun.includes('drop'))
    expect(yard.begun).to.have.length(5)
    yard.heaps['flood'] = 0
    yard.finish(5)
    await first
  })

  it('goes round among those that wait for room', async () => {
    const yard = new Yard({ a: 100, b: 100, c: 100 })
    const work = new FairScheduler({ max: 1, maxPerKey: 1, take: yard.take })
    const done = work.schedule('a')
    await Promise.all([work.schedule('b'), work.schedule('c')])
    for (let count = 1; count <= 9; count += 1) {
      await waitUntil(() => yard.begun.length === count)
      if (count === 9) Object.assign(yard.heaps, { a: 0, b: 0, c: 0 })
      yard.finish()
    }
    await done
    expect(yard.begun.join('')).to.equal('abcabcabc')
  })

  it('is not held up by what is slow', async () => {
    const yard = new Yard({ a: 1 })
    const work = new FairScheduler({ max: 10, maxPerKey: 4, take: yard.take })
    const done = work.schedule('a')
    await waitUntil(() => yard.underWay === 1)
    yard.heaps['a'] = 1
    await work.schedule('a')
    await waitUntil(() => yard.underWay === 2)
    yard.finish(2)
    await done
  })

  it('goes on after taking failed once', async () => {
    const yard = new Yard({ a: 1 })
    let fails = true
    const take = (key: string, limit: number) => (fails ? Promise.reject(new Error('away')) : yard.take(key, limit))
    const work = new FairScheduler({ max: 1, maxPerKey: 1, take })
    expect(await work.schedule('a').catch((error: Error) => error.message)).to.equal('away')
    fails = false
    const done = work.schedule('a')
    await waitUntil(() => yard.underWay === 1)
    yard.finish()
    await done
  })
})
