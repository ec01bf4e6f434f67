import type { Area } from '../mutant.ts'

const SEND = 'src/features/messages/send-message.ts'
const RELEASE = 'src/features/messages/scheduled-messages.ts'

export const MESSAGES: Area = {
  name: 'messages',
  tests: ['integration/api/messages.test.ts', 'integration/engine/message-kinds.test.ts'],
  mutants: [
    {
      name: 'text is accepted outside the service window',
      file: SEND,
      original: 'if (category === undefined) assertWindowOpen(place, sendAt ?? tx.now())',
      mutated: '',
    },
    {
      name: 'the service window of a scheduled message is checked for the present',
      file: SEND,
      original: 'assertWindowOpen(place, sendAt ?? tx.now())',
      mutated: 'assertWindowOpen(place, tx.now())',
    },
    {
      name: 'a template pauses automation',
      file: 'src/features/messages/store-messages.ts',
      original: '(category ? [] : [conversationId])',
      mutated: '[conversationId]',
    },
    {
      name: 'messages of other conversations can be answered',
      file: SEND,
      original: "if (message.conversationId !== conversationId) throw new NotFoundError('Message')",
      mutated: '',
    },
    {
      name: 'a message is released before its time',
      file: RELEASE,
      original: 'release_at <= ${now}',
      mutated: 'release_at is not null',
    },
    {
      name: 'a canceled message is released',
      file: 'src/features/outbound/message-status.ts',
      original: "release: { from: ['scheduled'], to: 'queued' }",
      mutated: "release: { from: ['scheduled', 'canceled'], to: 'queued' }",
    },
    {
      name: 'a released message leaves its conversation closed',
      file: RELEASE,
      original: "and status <> 'active'",
      mutated: "and status = 'active'",
    },
    {
      name: 'a reply of a workflow may name a message of another conversation',
      file: 'src/features/outbound/queue-messages.ts',
      original: "answered.get(message.replyToId ?? '') === message.conversationId",
      mutated: "answered.has(message.replyToId ?? '')",
    },
    {
      name: 'the provider gets a reaction to nothing',
      file: 'src/features/outbound/refusals.ts',
      original: "return content?.['reaction'] && !replyToProviderId ? NOTHING_TO_REACT_TO : undefined",
      mutated: 'return undefined',
    },
    {
      name: 'the sandbox competes with the connected channels of a workspace',
      file: 'src/features/messages/send-to-recipient.ts',
      original: '(real.length > 0 ? real : channels)',
      mutated: 'channels',
    },
    {
      name: 'the contact of an unknown number is created for a message that is refused',
      file: 'src/features/messages/send-to-recipient.ts',
      original: 'composeMessage(tx, { sources, place, recipient: NEW_RECIPIENT }, draft.input)',
      mutated: '',
    },
  ],
}
