import { findSendObstacle, type Recipient } from '../../channels/send-obstacle.ts'
import type { TemplateCategory } from '../../models/messaging.ts'

/**
 * Reason for which a person of the audience is sent nothing. It is decided when the recipients are listed
 * (`decideRecipients`) and when their messages are queued (`pickRecipients`, `queueBatch`), and follows from the refusal of
 * a message that was queued (`syncRecipients`) and from the deletion of the contact (`eraseRecipients`).
 */
export type SkipReason =
  | 'blocked'
  | 'opted_out'
  | 'no_consent'
  | 'no_address'
  | 'duplicate'
  | 'frequency_cap'
  /** The parameters do not fit the template. */
  | 'invalid_params'
  | 'contact_deleted'

/** The part of a contact that decides whether it is sent a broadcast. */
export type Eligibility = Required<Recipient> & {
  address: string | null
  /** True if another recipient of the broadcast has the address, or was sent the message there before it was taken over. */
  isAddressTaken: boolean
  isCapped: boolean
}

type Rules = { category: TemplateCategory; requiresOptIn: boolean }

/**
 * Returns the reason why nothing is sent to a contact; null if the message is sent. Two contacts with one address are one
 * person: `addresses` are those of the contacts before it.
 */
export function findSkipReason(
  contact: Eligibility,
  { category, requiresOptIn }: Rules,
  addresses: ReadonlySet<string>,
): SkipReason | null {
  const obstacle = findSendObstacle(contact, category, { isAutomated: true })
  if (obstacle === 'contact_blocked') return 'blocked'
  if (obstacle === 'contact_opted_out') return 'opted_out'
  if (requiresOptIn && contact.marketingConsent !== 'opted_in') return 'no_consent'
  if (contact.address === null) return 'no_address'
  if (contact.isAddressTaken || addresses.has(contact.address)) return 'duplicate'
  return contact.isCapped ? 'frequency_cap' : null
}
