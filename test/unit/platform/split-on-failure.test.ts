import { expect } from 'chai'
import { splitOnFailure } from '../../../src/platform/database/split-on-failure.ts'

const REFUSED = '23514'
const LOCKED = '55P03'
const CANCELED = '57014'
const LOST_CONNECTION = '08006'

/** Items are named by their key and a number. */
const toKey = (item: string) => item[0] ?? ''

/** Stores items in parts, each of which fails with the SQLSTATE of the first of its items that has one. */
function createStore(codes: Record<string, string>) {
  const stored: string[] = []
  const attempts: string[][] = []
  const lockTimeouts: (number | undefined)[] = []
  const run = async (part: string[], { lockTimeoutMs }: { lockTimeoutMs?: number }) => {
    attempts.push(part)
    lockTimeouts.push(lockTimeoutMs)
    const code = part.map((item) => codes[item]).find((found) => found !== undefined)
    if (code !== undefined) throw Object.assign(new Error(code), { code })
    stored.push(...part)
  }
  return { stored, attempts, lockTimeouts, run }
}

const errors = (failures: Map<string, unknown>) =>
  Object.fromEntries([...failures].map(([item, error]) => [item, (error as Error).message]))

describe('splitOnFailure', () => {
  it('executes work that succeeds once, with the locks waited for as long as the connection allows', async () => {
    const { attempts, lockTimeouts, run } = createStore({})
    expect(await splitOnFailure(['a1', 'b1', 'a2'], { toKey, run })).to.have.property('size', 0)
    expect([attempts, lockTimeouts]).to.deep.equal([[['a1', 'b1', 'a2']], [undefined]])
  })

  it('executes no work without items', async () => {
    const { attempts, run } = createStore({})
    await splitOnFailure([], { toKey, run })
    expect(attempts).to.deep.equal([])
  })

  it('finds one bad item of fifty in at most 13 attempts, the later of which wait 100 ms for a lock', async () => {
    const items = Array.from({ length: 50 }, (_, index) => String.fromCodePoint(0x4e00 + index))
    for (const bad of items) {
      const { stored, attempts, lockTimeouts, run } = createStore({ [bad]: REFUSED })
      expect(errors(await splitOnFailure(items, { toKey, run }))).to.deep.equal({ [bad]: REFUSED })
      expect(stored).to.deep.equal(items.filter((item) => item !== bad))
      expect(attempts.length).to.be.at.most(13)
      expect(new Set(lockTimeouts.slice(1))).to.deep.equal(new Set([100]))
    }
  })

  it('never separates the items of a key from those between them, and stores them one by one in order', async () => {
    const { attempts, run } = createStore({ a2: REFUSED })
    const failures = await splitOnFailure(['a1', 'b1', 'a2', 'b2', 'a3'], { toKey, run })
    expect(errors(failures)).to.deep.equal({ a2: REFUSED })
    expect(attempts.slice(1)).to.deep.equal([['a1', 'a2', 'a3'], ['a1'], ['a2'], ['a3'], ['b1', 'b2']])
  })

  it('fails all items of a key whose lock is not available, and stores those of the others', async () => {
    const { stored, run } = createStore({ a2: LOCKED, c1: REFUSED })
    const failures = await splitOnFailure(['a1', 'a2', 'b1', 'c1', 'c2'], { toKey, run })
    expect(errors(failures)).to.deep.equal({ a1: LOCKED, a2: LOCKED, c1: REFUSED })
    expect(stored).to.deep.equal(['b1', 'c2'])
  })

  it('fails all that is left after an outage, without further attempts', async () => {
    const { stored, attempts, run } = createStore({ a1: REFUSED, c1: LOST_CONNECTION })
    const failures = await splitOnFailure(['a1', 'b1', 'c1', 'd1', 'e1'], { toKey, run })
    expect(stored).to.deep.equal(['b1'])
    expect(errors(failures)).to.deep.equal({
      a1: REFUSED,
      c1: LOST_CONNECTION,
      d1: LOST_CONNECTION,
      e1: LOST_CONNECTION,
    })
    expect(attempts.at(-1)).to.include('c1')
  })

  it('searches for an item whose statement is canceled like for a bad one', async () => {
    const { stored, run } = createStore({ b1: CANCELED })
    expect(errors(await splitOnFailure(['a1', 'b1', 'c1'], { toKey, run }))).to.deep.equal({ b1: CANCELED })
    expect(stored).to.deep.equal(['a1', 'c1'])
  })
})
