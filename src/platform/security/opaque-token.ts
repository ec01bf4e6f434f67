import { createHash, randomBytes } from 'node:crypto'

const FORM = /^[A-Za-z0-9_-]{43}$/

/** 256 random bits. Only its hash is stored: whoever reads the database holds no token. */
export function newToken(): string {
  return randomBytes(32).toString('base64url')
}

/** Tells what cannot be a token without asking the database. */
export function isToken(text: string): boolean {
  return FORM.test(text)
}

/** A plain hash is enough: a token is too random to be guessed from it. */
export function hashToken(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}
