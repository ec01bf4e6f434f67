import { expect } from 'chai'
import { UnavailableError } from '../../../src/platform/errors.ts'
import { Batcher } from '../../../src/platform/concurrency/batcher.ts'

/** Work that is done when the test says so. */
function heldWork(options: { batchMax?: number; waitingMax?: number; fails?: (items: number[]) => boolean } = {}) {
  const { batchMax = 3, waitingMax = 5, fails = () => false } = options
  const batches: number[][] = []
  const held: (() => void)[] = []
  const work = new Batcher<number, string>({
    batchMax,
    waitingMax,
    isItemError: (error) => error instanceof RangeError,
    async work(_, items) {
      batches.push(items)
      await new Promise<void>((release) => held.push(release))
      if (fails(items)) throw new RangeError(`not ${items.join(', ')}`)
      return items.map((item) => `done ${item}`)
    },
  })
  const releaseAll = async (all: Promise<unknown>) => {
    let isOver = false
    const over = all.finally(() => (isOver = true))
    while (!isOver) {
      held.shift()?.()
      await new Promise(setImmediate)
    }
    return over
  }
  return { work, batches, releaseAll }
}

describe('shared work', () => {
  it('serves the first at once, and those who come meanwhile together, in order', async () => {
    const { work, batches, releaseAll } = heldWork()
    const all = Promise.all([1, 2, 3, 4, 5].map((item) => work.do('a', item)))
    expect(batches).to.deep.equal([[1]])
    expect(await releaseAll(all)).to.deep.equal(['done 1', 'done 2', 'done 3', 'done 4', 'done 5'])
    expect(batches).to.deep.equal([[1], [2, 3, 4], [5]])
  })

  it('does not let one thing wait for another', async () => {
    const { work, batches, releaseAll } = heldWork()
    const all = Promise.all([work.do('a', 1), work.do('b', 2)])
    expect(batches).to.deep.equal([[1], [2]])
    await releaseAll(all)
  })

  it('tries a failed batch one by one, so that only the item at fault fails', async () => {
    const { work, releaseAll } = heldWork({ fails: (items) => items.includes(3) })
    const all = Promise.allSettled([1, 2, 3, 4].map((item) => work.do('a', item)))
    const settled = (await releaseAll(all)) as PromiseSettledResult<string>[]
    expect(settled.map(({ status }) => status)).to.deep.equal(['fulfilled', 'fulfilled', 'rejected', 'fulfilled'])
  })

  it('refuses whoever comes when too many wait, and takes them again afterwards', async () => {
    const { work, releaseAll } = heldWork({ waitingMax: 1 })
    const taken = Promise.all([work.do('a', 1), work.do('a', 2)])
    const refusal = await work.do('a', 3).catch((error: unknown) => error)
    expect(refusal).to.be.instanceOf(UnavailableError)
    await releaseAll(taken)
    expect(await releaseAll(work.do('a', 4))).to.equal('done 4')
  })
})
