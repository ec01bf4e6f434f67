import { randomBytes } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { hash, verify } from '@node-rs/argon2'
import { FairSemaphore } from '../concurrency/fair-semaphore.ts'

/** OWASP's minimum for argon2id, the library's algorithm. Memory is in KiB. */
const COST = { memoryCost: 19 * 1024, timeCost: 2, parallelism: 1 }

/** Hashing occupies threads that DNS and file access need too, so only a few hashes are computed at a time. */
const WIDTH_MAX = 2
const WAITERS_MAX = 32

/** Hashes and verifies passwords in Unicode's NFKC form, so that a password does not depend on the keyboard. */
export class Passwords {
  readonly #semaphore = new FairSemaphore({
    width: Math.min(WIDTH_MAX, availableParallelism()),
    waitersPerKeyMax: WAITERS_MAX,
  })
  #dummyHash: Promise<string> | undefined

  /** @throws UnavailableError when too many are waiting */
  hash(password: string): Promise<string> {
    return this.#semaphore.run(null, () => hash(password.normalize('NFKC'), COST))
  }

  /**
   * Without a hash it does the same work and returns false, so that the time does not reveal if the account exists.
   * @throws UnavailableError when too many are waiting
   */
  async verify(password: string, passwordHash: string | undefined): Promise<boolean> {
    const dummyHash = await (this.#dummyHash ??= hash(randomBytes(32), COST))
    const expected = passwordHash ?? dummyHash
    const matches = await this.#semaphore.run(null, () => verify(expected, password.normalize('NFKC')))
    return matches && passwordHash !== undefined
  }
}
