import { createHmac, randomBytes } from 'node:crypto'
import { SECOND } from '../time.ts'
import { equalsTimingSafe } from './tokens.ts'

/** The parameters that authenticator apps support without exception: SHA-1, 6 digits and 30 seconds. */
const DIGITS = 6
const STEP_SECONDS = 30
/** The length that RFC 4226 recommends for SHA-1. */
const SECRET_BYTES = 20
/** Steps before and after the present one, as clocks differ and people are slow. */
const TOLERANCE = 1

const BASE32 = 'abcdefghijklmnopqrstuvwxyz234567'
/** 80 random bits each: too many to be found from a hash without a salt. */
const RECOVERY_BYTES = 10
const RECOVERY_CODES = 10

/** Creates the secret of an authenticator app, in base 32. */
export function newTotpSecret(): string {
  return toBase32(randomBytes(SECRET_BYTES)).toUpperCase()
}

/** Computes the code of a time step (RFC 6238). */
export function computeTotp(secret: string, step: number): string {
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(step))
  const mac = createHmac('sha1', fromBase32(secret)).update(counter).digest()
  const offset = (mac.at(-1) ?? 0) & 0xf
  const number = mac.readUInt32BE(offset) & 0x7f_ff_ff_ff
  return String(number % 10 ** DIGITS).padStart(DIGITS, '0')
}

/** Returns the time step of a code that is valid now, the latest of several; undefined for every other code. */
export function findTotpStep(secret: string, code: string, now: Date): number | undefined {
  const present = toStep(now)
  const steps = Array.from({ length: 2 * TOLERANCE + 1 }, (_, index) => present + TOLERANCE - index)
  return steps.filter((step) => equalsTimingSafe(code, computeTotp(secret, step)))[0]
}

export function toStep(time: Date): number {
  return Math.floor(time.getTime() / SECOND / STEP_SECONDS)
}

/** Builds the URI that authenticator apps read from a QR code. */
export function toTotpUri(secret: string, { issuer, account }: { issuer: string; account: string }): string {
  const label = `${encodeURIComponent(issuer)}:${encodeURIComponent(account)}`
  return `otpauth://totp/${label}?secret=${secret}&issuer=${encodeURIComponent(issuer)}&algorithm=SHA1&digits=${DIGITS}&period=${STEP_SECONDS}`
}

/** Creates codes such as `abcd-efgh-2345-6789`, of which each signs in once without the app. */
export function newRecoveryCodes(): string[] {
  return Array.from({ length: RECOVERY_CODES }, () =>
    toBase32(randomBytes(RECOVERY_BYTES)).replaceAll(/.{4}(?!$)/g, '$&-'),
  )
}

function toBase32(bytes: Buffer): string {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('')
  return bits.replaceAll(/.{5}/g, (group) => BASE32.charAt(Number.parseInt(group, 2)))
}

function fromBase32(text: string): Buffer {
  const bits = [...text.toLowerCase()].map((digit) => BASE32.indexOf(digit).toString(2).padStart(5, '0')).join('')
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)))
}
