import { randomBytes } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { hash, verify } from '@node-rs/argon2'
import { FairSemaphore } from '../concurrency/fair-semaphore.ts'

/** OWASP's minimum for argon2id, the library's algorithm. Memory is in KiB. */
const COST = { memoryCost: 19 * 1024, timeCost: 2, parallelism: 1 }

/** Hashing occupies threads that DNS and file access need too, so only a few hashes are computed at a time. */
const WIDTH_MAX = 2
const WAITERS_MAX = 32

let commonPasswords: ReadonlySet<string> | undefined

/** The longest group of characters whose repetition is no password. */
const GROUP_MAX = 4

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

/** Returns true for one of the about 49,000 most common passwords of published lists, whatever its case. */
export async function isCommonPassword(password: string): Promise<boolean> {
  commonPasswords ??= await loadPasswords()
  return commonPasswords.has(password.toLowerCase().normalize('NFKC'))
}

/** Returns true for a repetition of up to four characters, and for neighbours in order, such as `abcdefgh`. */
export function isPredictable(password: string): boolean {
  const characters = [...password.toLowerCase().normalize('NFKC')]
  const repeats = (length: number) => characters.every((one, at) => at < length || one === characters[at - length])
  const isOrdered = (step: 1 | -1) =>
    characters.every((one, at) => {
      const previous = characters[at - 1]
      return previous === undefined || (one.codePointAt(0) ?? 0) - (previous.codePointAt(0) ?? 0) === step
    })
  const lengths = Array.from({ length: GROUP_MAX }, (_, index) => index + 1)
  return lengths.some(repeats) || isOrdered(1) || isOrdered(-1)
}

/** Loaded when the first password is chosen, as few processes need them. */
async function loadPasswords(): Promise<ReadonlySet<string>> {
  const { dictionary } = await import('@zxcvbn-ts/language-common')
  return new Set(dictionary['passwords-common'])
}
