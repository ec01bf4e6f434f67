import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'chai'
import { cacheFor } from '../../../src/platform/concurrency/cache-for.ts'

describe('cacheFor', () => {
  it('reads once for concurrent callers and for callers within the time, and again after it', async () => {
    let reads = 0
    const read = cacheFor(30, async () => {
      reads += 1
      return reads
    })
    expect(await Promise.all([read(), read()])).to.deep.equal([1, 1])
    expect(await read()).to.equal(1)
    await delay(40)
    expect(await read()).to.equal(2)
  })
})
