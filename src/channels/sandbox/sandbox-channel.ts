import type { Channel } from '../channel.ts'

/** A phone that is played from the API: it accepts at once, and nobody calls it from outside. */
export const sandboxChannel: Channel = {
  answerHandshake: () => undefined,
  isGenuine: () => false,
  parse: () => ({ messages: [], statuses: [] }),
  send: ({ messageId }) => Promise.resolve({ kind: 'accepted', providerMessageId: `sandbox.${messageId}` }),
}
