import { withinTime } from '../../platform/concurrency/deadline.ts'
import { InvalidError } from '../../platform/errors.ts'
import type { Email } from '../../platform/mail.ts'
import { MINUTE, SECOND } from '../../platform/time.ts'
import type { SystemScope } from '../../scope/system-scope.ts'

/** Emails at once. The others are sent by the next run. */
export const EMAILS_MAX = 20
/** With the delays between them, most of a day. */
export const ATTEMPTS_MAX = 25

const SEND_MAX_MS = 30 * SECOND
/** Longer than an attempt takes, which is repeated if its process ends. */
export const EMAIL_DELAYS_MS = [1, 2, 4, 8, 16, 32, 60].map((minutes) => minutes * MINUTE)

/** @throws Error if the mail server does not accept the email in time */
export function sendEmail(system: SystemScope, email: Email): Promise<void> {
  return withinTime(SEND_MAX_MS, system.mail.send(email))
}

/** Returns the page that an email links to, with its token. */
export function addToken(page: string, token: string): string {
  const url = new URL(page)
  url.searchParams.set('token', token)
  return url.href
}

/**
 * Returns the address of the page that an email links to; null without one. A path alone is one of the first origin.
 * @throws InvalidError for a page of another origin, which would be sent the tokens of others
 */
export function toTrustedPage(redirectTo: string | undefined, origins: ReadonlySet<string>): string | null {
  if (redirectTo === undefined) return null
  const [first] = origins
  const page = URL.canParse(redirectTo, first) ? new URL(redirectTo, first) : undefined
  if (!page || !origins.has(page.origin))
    throw new InvalidError(`redirectTo ${UNTRUSTED}`, [{ path: 'redirectTo', message: UNTRUSTED }])
  return page.href
}

const UNTRUSTED = 'must be a page on one of the origins of APP_ORIGINS, or without that setting on this server'
