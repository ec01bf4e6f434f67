import { expect } from 'chai'
import { FairSemaphore } from '../../../src/platform/concurrency/fair-semaphore.ts'
import { UnavailableError } from '../../../src/platform/errors.ts'
import { errorMessage } from '../../support/error-message.ts'

/** Lets admitted waiters continue. */
const settle = () => new Promise((resolve) => setImmediate(resolve))

/** Creates a task that ends when the test ends it. */
function createTask(): { promise: Promise<void>; end: () => void } {
  let end = (): void => undefined
  const promise = new Promise<void>((resolve) => (end = resolve))
  return { promise, end }
}

describe('FairSemaphore', () => {
  let semaphore: FairSemaphore
  let admitted: string[]
  /** Ends the waits that a test has left, whose timers would keep the process. */
  let ended: AbortController

  beforeEach(() => {
    semaphore = new FairSemaphore({ width: 4, widthPerKey: 2, waitMaxMs: 60_000 })
    admitted = []
    ended = new AbortController()
  })

  afterEach(() => ended.abort())

  const acquire = (key: string | null, name = key ?? 'none', signal?: AbortSignal) =>
    semaphore.acquire(key, signal).then(() => void admitted.push(name))

  const startToAcquire = (key: string | null, name?: string) =>
    void acquire(key, name, ended.signal).catch(() => undefined)

  it('gives a key its share at most, and other keys the rest', async () => {
    for (const key of ['a', 'a', 'a', 'b', 'b']) startToAcquire(key)
    await settle()
    expect(admitted).to.deep.equal(['a', 'a', 'b', 'b'])
  })

  it('gives work of no key every free slot', async () => {
    for (let n = 0; n < 5; n += 1) startToAcquire(null)
    await settle()
    expect(admitted).to.have.length(4)
  })

  it('admits waiting keys round-robin, each in the order of its calls', async () => {
    for (const key of ['x', 'x', 'y', 'y']) await acquire(key)
    for (const [key, name] of [
      ['a', 'a1'],
      ['a', 'a2'],
      ['b', 'b1'],
    ] as const)
      startToAcquire(key, name)
    admitted = []
    for (const key of ['x', 'x', 'y']) semaphore.release(key)
    await settle()
    expect(admitted).to.deep.equal(['a1', 'b1', 'a2'])
  })

  it('admits another key when the first in line has its share', async () => {
    for (const key of ['a', 'a', 'b', 'b']) await acquire(key)
    startToAcquire('a', 'a3')
    startToAcquire('c')
    semaphore.release('b')
    await settle()
    expect(admitted.at(-1)).to.equal('c')
  })

  it('rejects a wait that lasts too long, which then takes no slot', async () => {
    semaphore = new FairSemaphore({ width: 1, widthPerKey: 1, waitMaxMs: 1 })
    await acquire('a')
    expect(await errorMessage(acquire('b'))).to.match(/^Too many requests are in progress/)
    semaphore.release('a')
    await acquire('c')
    expect(admitted).to.deep.equal(['a', 'c'])
  })

  it('ends a wait whose signal aborts, which then takes no slot', async () => {
    const controller = new AbortController()
    await acquire('a')
    await acquire('a')
    const waiting = errorMessage(acquire('a', 'a3', controller.signal))
    controller.abort()
    expect(await waiting).to.match(/client disconnected/)
    expect(await errorMessage(acquire('b', 'b', controller.signal))).to.match(/client disconnected/)
    semaphore.release('a')
    await acquire('a', 'a4')
    expect(admitted).to.deep.equal(['a', 'a', 'a4'])
  })

  it('runs work in its slots, lets further work wait in order, and rejects work over the limit of waiters', async () => {
    semaphore = new FairSemaphore({ width: 2, waitersPerKeyMax: 2 })
    const started: number[] = []
    const tasks = Array.from({ length: 5 }, createTask)
    const runs = tasks.map(({ promise }, index) =>
      semaphore.run(null, () => {
        started.push(index)
        return promise
      }),
    )
    const error = await runs[4]?.catch((reason: unknown) => reason)
    expect(error).to.be.instanceOf(UnavailableError).and.to.have.property('retryAfterSeconds', 1)
    expect(started).to.deep.equal([0, 1])
    tasks[1]?.end()
    await runs[1]
    await settle()
    expect(started).to.deep.equal([0, 1, 2])
    tasks.forEach(({ end }) => end())
    await Promise.all(runs.slice(0, 4))
    expect(started).to.deep.equal([0, 1, 2, 3])
  })

  it('gives the slot of work that fails to the next', async () => {
    semaphore = new FairSemaphore({ width: 1 })
    const outcomes = [
      semaphore.run(null, () => Promise.reject(new Error('failed'))),
      semaphore.run(null, () => Promise.resolve('done')),
    ]
    expect((await Promise.allSettled(outcomes)).map(({ status }) => status)).to.deep.equal(['rejected', 'fulfilled'])
    expect(await semaphore.run(null, () => Promise.resolve('again'))).to.equal('again')
  })
})
