import { expect } from 'chai'
import { ExpiringCache } from '../../../src/platform/concurrency/expiring-cache.ts'

describe('ExpiringCache', () => {
  it('reads once for concurrent callers, and again after the time or a deletion', async () => {
    const cache = new ExpiringCache()
    let reads = 0
    const read = async () => (reads += 1)
    const get = (ms: number) => cache.get('key', ms, read)
    expect(await Promise.all([get(60_000), get(60_000)])).to.deep.equal([1, 1])
    expect(await get(0)).to.equal(2)
    cache.delete('key')
    expect(await get(60_000)).to.equal(3)
  })

  it('keeps neither a failed read nor one during which its key was deleted', async () => {
    const cache = new ExpiringCache()
    await cache.get('key', 60_000, () => Promise.reject(new Error('away'))).catch(() => undefined)
    const first = cache.get('key', 60_000, async () => 'old')
    cache.delete('key')
    expect(await first).to.equal('old')
    expect(await cache.get('key', 60_000, async () => 'new')).to.equal('new')
  })

  it('reads again for a caller whose time has passed since the start of a read that hangs', async () => {
    const cache = new ExpiringCache()
    void cache.get('key', 60_000, () => new Promise(() => undefined))
    expect(await cache.get('key', 0, async () => 'new')).to.equal('new')
  })

  it('keeps no more results than it may have', async () => {
    const cache = new ExpiringCache({ entriesMax: 1 })
    let reads = 0
    const get = (key: string) => cache.get(key, 60_000, async () => (reads += 1))
    expect([await get('a'), await get('b'), await get('b'), await get('a')]).to.deep.equal([1, 2, 2, 3])
  })
})
