import type { Channel } from '../channel.ts'

/** A phone that is played from the API: what it accepts has arrived, and nobody calls it from outside. */
export const sandboxChannel: Channel = {
  answerHandshake: () => undefined,
  isGenuine: () => false,
  parse: () => ({ messages: [], statuses: [], ignored: 0 }),
  send: ({ messageId, to }) =>
    Promise.resolve({ kind: 'accepted', providerMessageId: `sandbox.${messageId}`, recipientAddress: to.phone }),
}
