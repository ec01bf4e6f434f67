import { randomInt } from 'node:crypto'
import { crc32 } from 'node:zlib'

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const RANDOM_LENGTH = 30
/** Six digits of base 62 can represent every checksum. */
const CHECKSUM_LENGTH = 6
const FORMAT = new RegExp(`^prl_[0-9A-Za-z]{${RANDOM_LENGTH + CHECKSUM_LENGTH}}$`)

/**
 * Creates the secret of an API key: a prefix by which scanners find it in source code, 178 random bits in base 62, and a
 * checksum. Only its hash is stored.
 */
export function newApiKeySecret(): string {
  const random = Array.from({ length: RANDOM_LENGTH }, () => DIGITS[randomInt(DIGITS.length)]).join('')
  return `prl_${random}${checksum(random)}`
}

/** Recognizes texts that cannot be a secret, such as one with a mistyped character, without a database query. */
export function isApiKeySecret(text: string): boolean {
  if (!FORMAT.test(text)) return false
  const random = text.slice('prl_'.length, -CHECKSUM_LENGTH)
  return text.endsWith(checksum(random))
}

function checksum(random: string): string {
  let rest = crc32(random)
  const digits: string[] = []
  while (digits.length < CHECKSUM_LENGTH) {
    digits.unshift(DIGITS[rest % DIGITS.length] ?? '')
    rest = Math.floor(rest / DIGITS.length)
  }
  return digits.join('')
}
