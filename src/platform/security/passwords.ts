import { randomBytes } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { hash, verify } from '@node-rs/argon2'
import { Semaphore } from '../concurrency/semaphore.ts'

/** What OWASP asks of argon2id (which is the library's algorithm) at the least memory; memory is in KiB. */
const COST = { memoryCost: 19 * 1024, timeCost: 2, parallelism: 1 }

/** Hashing occupies threads that DNS and files need too, so only a few hashes are made at a time. */
const WIDTH_MAX = 2
const QUEUE_MAX = 32

/** Passwords are compared in Unicode's NFKC form: one password, however a keyboard composes it. */
export class Passwords {
  readonly #gate = new Semaphore({ width: Math.min(WIDTH_MAX, availableParallelism()), queueMax: QUEUE_MAX })
  readonly #nobodys = hash(randomBytes(32), COST)

  /** @throws UnavailableError when too many are waiting */
  hash(password: string): Promise<string> {
    return this.#gate.run(() => hash(password.normalize('NFKC'), COST))
  }

  /**
   * Without a hash it does the same work and says no: the time it takes tells nobody whether there is an account.
   * @throws UnavailableError when too many are waiting
   */
  async verify(password: string, passwordHash: string | undefined): Promise<boolean> {
    const against = passwordHash ?? (await this.#nobodys)
    const matches = await this.#gate.run(() => verify(against, password.normalize('NFKC')))
    return matches && passwordHash !== undefined
  }
}
