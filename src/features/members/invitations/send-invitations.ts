import { nextAttemptSql } from '../../../platform/database/statements/backoff.ts'
import { sqlFragment } from '../../../platform/database/statements/statement.ts'
import { hashToken, newToken } from '../../../platform/security/tokens.ts'
import { addMs, DAY } from '../../../platform/time.ts'
import type { Role } from '../../../scope/dependencies.ts'
import type { SystemScope } from '../../../scope/system-scope.ts'
import { addToken, ATTEMPTS_MAX, EMAIL_DELAYS_MS, EMAILS_MAX, sendEmail } from '../../auth/token-emails.ts'
import { purgeSystemRows } from '../../retention/purge-rows.ts'

const KEPT_MS = 90 * DAY
/** Characters of a name in a subject. */
const NAME_MAX = 40

type Due = { id: string; email: string; role: Role; page: string | null; dueAt: Date; attempts: number }

/**
 * Emails the invitations that were requested, again with growing delays while the mail server does not accept them. A
 * process that ends between an email and its commit makes another send a second one, whose token replaces the first.
 */
export async function sendInvitations(system: SystemScope): Promise<void> {
  const now = system.now()
  const invitations = await system.sql<Due>('claimInvitations')`
    update invitations i set attempts = i.attempts + 1,
      due_at = ${nextAttemptSql(now, sqlFragment`i.attempts`, EMAIL_DELAYS_MS)}
    from (select id from invitations where due_at <= ${now} order by due_at limit ${EMAILS_MAX} for update skip locked) due
    where i.id = due.id
    returning i.id, i.email, i.role, i.page, i.due_at, i.attempts`
  await Promise.all(invitations.map((invitation) => attempt(system, invitation)))
}

async function attempt(system: SystemScope, invitation: Due): Promise<void> {
  const { id, dueAt, attempts } = invitation
  try {
    await sendInvitation(system, invitation)
  } catch (error) {
    system.log.warn({ event: 'email_failed', err: error, attempts }, 'an invitation could not be emailed')
    if (attempts < ATTEMPTS_MAX) return
  }
  // One that was requested meanwhile is due at another time.
  await system.sql('endInvitationEmail')`update invitations set due_at = null where id = ${id} and due_at = ${dueAt}`
}

async function sendInvitation(system: SystemScope, { id, email, role, page, dueAt }: Due): Promise<void> {
  const [names] = await system.sql<{ workspace: string; inviter: string }>('loadInvitationNames')`
    select w.name as workspace, u.name as inviter from invitations i
    join workspaces w on w.id = i.workspace_id join users u on u.id = i.invited_by
    where i.id = ${id} and i.status = 'pending' and i.expires_at > ${system.now()}`
  if (!names) return
  const token = newToken()
  const renewed = await system.sql('renewInvitationToken')`
    update invitations set token_hash = ${hashToken(token)}
    where id = ${id} and status = 'pending' and due_at = ${dueAt} returning 1`
  if (renewed.length === 0) return
  const subject = `${shorten(names.inviter)} invites you to ${shorten(names.workspace)} on Parley`
  await sendEmail(system, {
    to: { name: email, address: email },
    subject,
    text: composeText(names, { role, token, page }),
  })
}

/** Names are texts of people whom the recipient may not know. */
function shorten(name: string): string {
  return name.length > NAME_MAX ? `${name.slice(0, NAME_MAX)}…` : name
}

function composeText(
  { workspace, inviter }: { workspace: string; inviter: string },
  { role, token, page }: { role: Role; token: string; page: string | null },
): string {
  return `Hello,

${inviter} invites you to the workspace "${workspace}" on Parley, with the role ${role}.

Sign in with this email address, or create an account with it. To accept, then ${page === null ? toRequest(token) : `open this page:\n\n${addToken(page, token)}`}

The invitation is valid for seven days. If you do not expect it, ignore this email.
`
}

function toRequest(token: string): string {
  return `send this request:

POST /api/invitations/accept
{"token": "${token}"}`
}

/** Deletes invitations 90 days after they have expired. */
export async function purgeInvitations(system: SystemScope): Promise<void> {
  const isOld = sqlFragment`expires_at < ${addMs(system.now(), -KEPT_MS)}`
  await purgeSystemRows(system, { table: sqlFragment`invitations`, isOld })
}
