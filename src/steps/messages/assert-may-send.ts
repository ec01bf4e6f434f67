import { findSendObstacle, type Recipient } from '../../channels/send-obstacle.ts'
import type { TemplateCategory } from '../../channels/templates/fill-template.ts'
import { StepError } from '../../engine/language/step-error.ts'
import type { JsonObject } from '../../engine/model/run.ts'
import type { StepContext } from '../../engine/model/step.ts'
import { getField } from '../../platform/fields.ts'

const FINAL = { retryable: false }

/**
 * Asserts that a workflow may send the contact a message; `category` is null for one without a template.
 * @throws StepError `contact_blocked`, `contact_opted_out`
 */
export function assertMaySend(context: StepContext, category: TemplateCategory | null): void {
  const { contact } = context.facts
  if (!contact) return
  const obstacle = findSendObstacle(toRecipient(contact), category, { isAutomated: true })
  if (obstacle === 'contact_blocked') {
    throw new StepError('contact_blocked', 'The contact is blocked and receives no messages', FINAL)
  }
  if (obstacle === 'contact_opted_out') {
    const message =
      category === null
        ? 'The contact opted out of automated messages. A member may reply by hand'
        : `The contact opted out, so a template of the category ${category} cannot be sent to it`
    throw new StepError('contact_opted_out', message, FINAL)
  }
}

function toRecipient(contact: JsonObject): Recipient {
  const consent = contact['consent']
  return {
    blocked: contact['blocked'] === true,
    marketingConsent: toConsent(getField(consent, 'marketing')),
    serviceConsent: toConsent(getField(consent, 'service')),
  }
}

function toConsent(value: unknown): Recipient['marketingConsent'] {
  return value === 'opted_in' || value === 'opted_out' ? value : 'unknown'
}
