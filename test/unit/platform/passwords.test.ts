import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect } from 'chai'
import { UnavailableError } from '../../../src/platform/errors.ts'
import { Semaphore } from '../../../src/platform/concurrency/semaphore.ts'
import { Passwords } from '../../../src/platform/security/passwords.ts'

/** Creates a task that ends when the test ends it. */
function createTask(): { promise: Promise<void>; end: () => void } {
  let end = (): void => undefined
  const promise = new Promise<void>((resolve) => (end = resolve))
  return { promise, end }
}

describe('Semaphore', () => {
  it('runs tasks up to its width, queues further ones in order and rejects those over the queue limit', async () => {
    const semaphore = new Semaphore({ width: 2, queueMax: 2 })
    const started: number[] = []
    const tasks = Array.from({ length: 5 }, createTask)
    const runs = tasks.map(({ promise }, index) =>
      semaphore.run(() => {
        started.push(index)
        return promise
      }),
    )
    const error = await runs[4]?.catch((reason: unknown) => reason)
    expect(error).to.be.instanceOf(UnavailableError).and.to.have.property('retryAfterSeconds', 1)
    expect(started).to.deep.equal([0, 1])
    tasks[1]?.end()
    await runs[1]
    await nextTurn()
    expect(started).to.deep.equal([0, 1, 2])
    tasks.forEach(({ end }) => end())
    await Promise.all(runs.slice(0, 4))
    expect(started).to.deep.equal([0, 1, 2, 3])
  })

  it('releases its slot when a task fails', async () => {
    const semaphore = new Semaphore({ width: 1, queueMax: 1 })
    const outcomes = [
      semaphore.run(() => Promise.reject(new Error('failed'))),
      semaphore.run(() => Promise.resolve('done')),
    ]
    expect((await Promise.allSettled(outcomes)).map(({ status }) => status)).to.deep.equal(['rejected', 'fulfilled'])
    expect(await semaphore.run(() => Promise.resolve('again'))).to.equal('again')
  })
})

describe('Passwords', () => {
  const passwords = new Passwords()

  it('hashes with argon2id (19 MiB, 2 passes) and a random salt', async () => {
    const [one, other] = [await passwords.hash('correct horse'), await passwords.hash('correct horse')]
    expect(one).to.match(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
    expect(one).not.to.equal(other)
    expect(await passwords.verify('correct horse', one)).to.equal(true)
    expect(await passwords.verify('Correct horse', one)).to.equal(false)
  })

  it('verifies a password in any Unicode normalization form', async () => {
    const hash = await passwords.hash('\u212bngstro\u0308m \ufb01ne')
    expect(await passwords.verify('\u00c5ngstr\u00f6m fine', hash)).to.equal(true)
  })

  it('verifies no password without a hash', async () => {
    expect(await passwords.verify('anything', undefined)).to.equal(false)
  })

  it('rejects concurrent hashing over its queue limit', async () => {
    const flood = await Promise.allSettled(Array.from({ length: 60 }, () => passwords.hash('correct horse')))
    const rejected = flood.filter(({ status }) => status === 'rejected')
    expect(rejected).to.have.length.within(60 - 32 - 2, 60 - 32 - 1)
  })
})
