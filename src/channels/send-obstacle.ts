import type { TemplateCategory } from './templates/fill-template.ts'

/*
 * The rule of who may be sent what, for all senders:
 *
 *   - A blocked contact is sent nothing.
 *   - A contact that opted out of marketing is sent no template of the category marketing, by nobody.
 *   - A contact that opted out of service is sent no template of any category, and nothing automated: no message of a
 *     workflow, a tool, a broadcast or a program with an API key. A member may reply by hand while the service window is
 *     open.
 */

export type SendObstacle = 'contact_blocked' | 'contact_opted_out'

type Consent = 'unknown' | 'opted_in' | 'opted_out'
export type Recipient = { blocked: boolean; marketingConsent: Consent; serviceConsent?: Consent }

export type Sending = {
  /** True for messages of workflows, tools, broadcasts and API keys; false for those that a member writes. */
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
