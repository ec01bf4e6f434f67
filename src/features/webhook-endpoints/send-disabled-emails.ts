import { nextAttemptSql } from '../../platform/database/statements/backoff.ts'
import { sqlFragment } from '../../platform/database/statements/statement.ts'
import { isOpenSql } from '../../scope/deleted-workspaces.ts'
import type { Scope } from '../../scope/scope.ts'
import type { SystemScope } from '../../scope/system-scope.ts'
import { ATTEMPTS_MAX, EMAIL_DELAYS_MS, EMAILS_MAX, sendEmail } from '../auth/token-emails.ts'

/** Owners and admins that get the email. */
const RECIPIENTS_MAX = 20

type Due = { id: string; url: string; disabledReason: string | null; emailDueAt: Date; emailAttempts: number }
type Recipient = { name: string; address: string }

/**
 * Emails the owners and admins of workspaces whose endpoints were disabled, again with growing delays while the mail server
 * does not accept it. A process that ends between an email and its commit makes another send it again.
 */
export async function sendDisabledEmails(system: SystemScope): Promise<void> {
  const due = await system.acrossTenants<{ tenantId: string; id: string }>('listEndpointsToEmail')`
    select e.tenant_id, e.id from webhook_endpoints e
    where e.email_due_at <= ${system.now()} and ${system.deletedWorkspaces.exceptSql('e')}
    order by e.email_due_at limit ${EMAILS_MAX}`
  await Promise.all(due.map(({ tenantId, id }) => attempt(system, system.forTenant(tenantId), id)))
}

async function attempt(system: SystemScope, scope: Scope, id: string): Promise<void> {
  const now = scope.now()
  const [due] = await scope.sql<Due>('claimEndpointEmail')`
    update webhook_endpoints e set email_attempts = e.email_attempts + 1,
      email_due_at = ${nextAttemptSql(now, sqlFragment`e.email_attempts`, EMAIL_DELAYS_MS)}
    where e.tenant_id = ${scope.tenantId} and e.id = ${id} and e.email_due_at <= ${now}
      and ${isOpenSql(scope.tenantId)}
    returning e.id, e.url, e.disabled_reason, e.email_due_at, e.email_attempts`
  if (!due) return
  const recipients = await listRecipients(scope)
  const sent = await Promise.allSettled(recipients.map((to) => sendEmail(system, { to, ...compose(due) })))
  const failure = sent.find((result) => result.status === 'rejected')
  if (failure)
    scope.log.warn(
      { event: 'email_failed', err: failure.reason, attempts: due.emailAttempts },
      'an email about a webhook could not be sent',
    )
  // Who got it does not get it again because of another one.
  const isRefused = failure !== undefined && sent.every(({ status }) => status === 'rejected')
  if (isRefused && due.emailAttempts < ATTEMPTS_MAX) return
  await scope.sql('endEndpointEmail')`
    update webhook_endpoints set email_due_at = null
    where tenant_id = ${scope.tenantId} and id = ${id} and email_due_at = ${due.emailDueAt}`
}

function listRecipients(scope: Scope): Promise<Recipient[]> {
  return scope.sql<Recipient>('listEndpointRecipients')`
    select u.name, u.email as address from memberships m join users u on u.id = m.user_id
    where m.workspace_id = ${scope.tenantId} and m.role in ('owner', 'admin')
    order by m.created_at, u.id limit ${RECIPIENTS_MAX}`
}

function compose({ id, url, disabledReason }: Due): { subject: string; text: string } {
  const reason =
    disabledReason === 'gone'
      ? 'The receiver answered 410, which asks to be sent nothing more.'
      : 'No event has reached it for five days.'
  const { host } = new URL(url)
  return {
    subject: `Parley sends no more events to ${host}`,
    text: `Hello,

the webhook endpoint ${id} at ${host} was disabled. ${reason}

When the receiver works again, enable the endpoint with this request. It then gets the events from that time on:

PATCH /api/webhook-endpoints/${id}
{"status": "enabled"}
`,
  }
}
