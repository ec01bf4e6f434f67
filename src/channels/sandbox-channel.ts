import { type Channel, emptyInbound } from './channel.ts'

/** Sandbox channel: it delivers immediately, and its inbound messages come from the API instead of webhook calls. */
export const sandboxChannel: Channel = {
  answerHandshake: () => undefined,
  hasValidSignature: () => false,
  parse: emptyInbound,
  markRead: () => Promise.resolve(),
  templates: null,
  upload: null,
  download: () => Promise.resolve({ problem: 'The sandbox has no files', isFinal: true }),
  send: ({ messageId, to }) =>
    Promise.resolve({ kind: 'accepted', providerMessageId: `sandbox.${messageId}`, recipientAddress: to.phone }),
}
