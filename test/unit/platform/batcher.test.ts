import { expect } from 'chai'
import { UnavailableError } from '../../../src/platform/errors.ts'
import { Batcher } from '../../../src/platform/concurrency/batcher.ts'

/** Creates a batcher whose batches finish when the test releases them. */
function createBatcher(options: { batchMax?: number; waitingMax?: number; fails?: (items: number[]) => boolean } = {}) {
  const { batchMax = 3, waitingMax = 5, fails = () => false } = options
  const batches: number[][] = []
  const pendingReleases: (() => void)[] = []
  const batcher = new Batcher<number, string>({
    batchMax,
    waitingMax,
    async work(_, items) {
      batches.push(items)
      await new Promise<void>((release) => pendingReleases.push(release))
      if (fails(items)) throw new RangeError(`not ${items.join(', ')}`)
      return items.map((item) => `done ${item}`)
    },
  })
  const releaseAll = async (all: Promise<unknown>) => {
    let isDone = false
    const done = all.finally(() => (isDone = true))
    while (!isDone) {
      pendingReleases.shift()?.()
      await new Promise(setImmediate)
    }
    return done
  }
  return { batcher, batches, releaseAll }
}

describe('Batcher', () => {
  it('starts the first item immediately and batches later items in order', async () => {
    const { batcher, batches, releaseAll } = createBatcher()
    const all = Promise.all([1, 2, 3, 4, 5].map((item) => batcher.do('a', item)))
    expect(batches).to.deep.equal([[1]])
    expect(await releaseAll(all)).to.deep.equal(['done 1', 'done 2', 'done 3', 'done 4', 'done 5'])
    expect(batches).to.deep.equal([[1], [2, 3, 4], [5]])
  })

  it('runs batches of different keys in parallel', async () => {
    const { batcher, batches, releaseAll } = createBatcher()
    const all = Promise.all([batcher.do('a', 1), batcher.do('b', 2)])
    expect(batches).to.deep.equal([[1], [2]])
    await releaseAll(all)
  })

  it('rejects all items of a batch whose work fails, and goes on with the next batch', async () => {
    const { batcher, releaseAll } = createBatcher({ fails: (items) => items.includes(3) })
    const all = Promise.allSettled([1, 2, 3, 4, 5].map((item) => batcher.do('a', item)))
    const results = (await releaseAll(all)) as PromiseSettledResult<string>[]
    const [fulfilled, rejected] = ['fulfilled', 'rejected']
    expect(results.map(({ status }) => status)).to.deep.equal([fulfilled, rejected, rejected, rejected, fulfilled])
  })

  it('rejects items with UnavailableError while its queue is full and accepts them afterwards', async () => {
    const { batcher, releaseAll } = createBatcher({ waitingMax: 1 })
    const accepted = Promise.all([batcher.do('a', 1), batcher.do('a', 2)])
    const error = await batcher.do('a', 3).catch((reason: unknown) => reason)
    expect(error).to.be.instanceOf(UnavailableError)
    await releaseAll(accepted)
    expect(await releaseAll(batcher.do('a', 4))).to.equal('done 4')
  })
})
