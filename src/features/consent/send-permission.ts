import { findSendObstacle, type Recipient, type Sending } from '../../channels/send-obstacle.ts'
import type { TemplateCategory } from '../../models/messaging.ts'
import { ForbiddenError, UnprocessableError } from '../../platform/errors.ts'
import type { ApiScope } from '../../trpc/api-scopes.ts'
import type { Scope } from '../../scope/scope.ts'
import { contactBlockedError } from '../contacts/errors.ts'

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

/** @throws ForbiddenError for an API key that is for other channels */
export function assertMaySendOn({ actor }: Pick<Scope, 'actor'>, channelId: string): void {
  if (actor.type !== 'key' || actor.channelIds === null || actor.channelIds.includes(channelId)) return
  throw new ForbiddenError(undefined, undefined, {
    error: 'insufficient_scope',
    error_description: 'The API key may not send on this channel',
  })
}

/** @throws ForbiddenError for an API key without a scope that this call needs because of what it changes */
export function assertKeyHas({ actor }: Pick<Scope, 'actor'>, scope: ApiScope): void {
  if (actor.type !== 'key' || actor.scopes.has(scope)) return
  throw new ForbiddenError(undefined, undefined, { error: 'insufficient_scope', scope })
}
