import type { SendResult } from '../../channels/channel.ts'
import type { ClaimedMessage } from './claim-messages.ts'

/** Returns the result of a message that must not be sent any more. */
export function findRefusal(message: ClaimedMessage): SendResult | undefined {
  const { obstacle, isOutsideWindow, content, replyToProviderId } = message
  if (obstacle === 'contact_blocked') return CONTACT_BLOCKED
  if (obstacle === 'contact_opted_out') return CONTACT_OPTED_OUT
  if (isOutsideWindow) return WINDOW_CLOSED
  return content?.['reaction'] && !replyToProviderId ? NOTHING_TO_REACT_TO : undefined
}

const NOTHING_TO_REACT_TO: SendResult = {
  kind: 'refused',
  error: {
    code: 'replied_message_not_sent',
    message: 'The message to react to was never sent or is not in the conversation',
    providerCode: null,
    retryable: false,
    hint: 'React to a message that the customer has',
  },
}

const CONTACT_BLOCKED: SendResult = {
  kind: 'refused',
  error: {
    code: 'contact_blocked',
    message: 'The contact was blocked before the message could be sent',
    providerCode: null,
    retryable: false,
    hint: 'Unblock the contact and send the message again',
  },
}

const CONTACT_OPTED_OUT: SendResult = {
  kind: 'refused',
  error: {
    code: 'contact_opted_out',
    message: 'The contact opted out of such messages before this one could be sent',
    providerCode: null,
    retryable: false,
    hint: 'Send the contact no such messages until it opts in again',
  },
}

const WINDOW_CLOSED: SendResult = {
  kind: 'refused',
  error: {
    code: 'outside_window',
    message: 'The 24-hour customer service window closed before the message could be sent',
    providerCode: null,
    retryable: false,
    hint: 'Send an approved template with POST /api/messages or in a broadcast',
  },
}
