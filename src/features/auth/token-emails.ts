import { withinTime } from '../../platform/concurrency/deadline.ts'
import { type SqlFragment, sqlFragment } from '../../platform/database/statements/statement.ts'
import type { Email } from '../../platform/mail.ts'
import { addMs, HOUR, MINUTE, SECOND } from '../../platform/time.ts'
import type { SystemScope } from '../../scope/system-scope.ts'

/** Emails at once. The others are sent by the next run. */
export const EMAILS_MAX = 20
/** With the delays between them, most of a day. */
export const ATTEMPTS_MAX = 25

const SEND_MAX_MS = 30 * SECOND
/** Longer than an attempt takes, which is repeated if its process ends. It doubles with each attempt. */
const DELAY_MS = MINUTE
const DELAY_MAX_MS = HOUR

/** The time of the next attempt to send an email, after the number of those so far. */
export function nextAttemptSql(now: Date, attempts: SqlFragment): SqlFragment {
  return sqlFragment`${now}::timestamptz + least(${DELAY_MS} * 2 ^ ${attempts}, ${DELAY_MAX_MS}) * interval '1 ms'`
}

/** The same of a row on a distributed database, which computes no times of its columns. */
export function nextAttempt(now: Date, attempts: number): Date {
  return addMs(now, Math.min(DELAY_MS * 2 ** attempts, DELAY_MAX_MS))
}

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

/** Allows links to the configured origins only. A path alone refers to the first of them. */
export function toTrustedPage(redirectTo: string | undefined, appOrigins: ReadonlySet<string>): string | null {
  const [first] = appOrigins
  if (redirectTo === undefined || first === undefined || !URL.canParse(redirectTo, first)) return null
  const page = new URL(redirectTo, first)
  return appOrigins.has(page.origin) ? page.href : null
}
