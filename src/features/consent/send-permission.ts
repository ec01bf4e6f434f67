import type { Contact as ContactRow } from '../../models/contacts/contact.ts'
import type { TemplateCategory } from '../../models/messaging/template.ts'
import { UnprocessableError } from '../../platform/errors.ts'
import { contactBlockedError } from '../contacts/contact-blocked-error.ts'

/*
 * The rule of who may be sent what, for all senders:
 *
 *   - A blocked contact is sent nothing.
 *   - A contact that opted out of marketing is sent no template of the category marketing, by nobody.
 *   - A contact that opted out of service is sent no template of any category, and nothing automated: no message of a
 *     workflow, a tool or a broadcast. A member may reply by hand while the service window is open.
 */

export type SendObstacle = 'contact_blocked' | 'contact_opted_out'

type Recipient = Pick<ContactRow, 'blocked' | 'marketingConsent'> & Partial<Pick<ContactRow, 'serviceConsent'>>

type Sending = {
  /** True for messages of workflows, tools and broadcasts; false for those that a member writes. */
  isAutomated?: boolean
}

/** Returns the reason why the contact may not be sent a message. `category` is null for a message without a template. */
export function findSendObstacle(
  { blocked, marketingConsent, serviceConsent }: Recipient,
  category: TemplateCategory | null,
  { isAutomated = false }: Sending = {},
): SendObstacle | null {
  if (blocked) return 'contact_blocked'
  if (category === 'marketing' && marketingConsent === 'opted_out') return 'contact_opted_out'
  if (serviceConsent === 'opted_out' && (isAutomated || category !== null)) return 'contact_opted_out'
  return null
}

/** SQL form of `findSendObstacle` for the message `m` and its contact `c`. */
export const SEND_OBSTACLE_SQL = `case
  when c.blocked then 'contact_blocked'
  when m.category = 'marketing' and c.marketing_consent = 'opted_out' then 'contact_opted_out'
  when c.service_consent = 'opted_out' and (m.category is not null or m.sender ->> 'type' in ('workflow', 'broadcast'))
    then 'contact_opted_out' end`

/** @throws UnprocessableError `contact_blocked`, `contact_opted_out` */
export function assertMaySend(recipient: Recipient, category: TemplateCategory | null, sending: Sending = {}): void {
  const obstacle = findSendObstacle(recipient, category, sending)
  if (obstacle === 'contact_blocked') throw contactBlockedError('receives no messages')
  if (obstacle === 'contact_opted_out') throw optedOutError(recipient)
}

function optedOutError({ serviceConsent }: Recipient): UnprocessableError {
  return serviceConsent === 'opted_out'
    ? new UnprocessableError(
        'contact_opted_out',
        'The contact opted out of automated messages. A member may reply within 24 hours of its last message; templates and automated messages need its consent again',
        { purpose: 'service' },
      )
    : new UnprocessableError(
        'contact_opted_out',
        'The contact opted out of marketing. Send a template of the category utility, or wait until it opts in again',
        { purpose: 'marketing' },
      )
}
