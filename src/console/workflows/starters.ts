import type { RouterInputs } from '@parley/client'

type Definition = NonNullable<RouterInputs['workflows']['create']['definition']>

export type Starter = { id: string; title: string; summary: string; definition: Definition }

/** Small workflows that can be published as they are. */
export const STARTERS: readonly Starter[] = [
  {
    id: 'welcome',
    title: 'Welcome',
    summary: 'Greets a customer who writes for the first time, and marks the contact.',
    definition: {
      version: 1,
      triggers: [{ type: 'conversation_opened' }],
      steps: [
        { id: 'is_known', type: 'branch', cases: [isWelcomed()], else: 'greet' },
        {
          id: 'greet',
          type: 'send_message',
          message: { body: 'Hi {{contact.name | default: "there"}}, thank you for writing to us!' },
        },
        { id: 'mark', type: 'add_tag', tags: ['welcomed'], next: 'end' },
        {
          id: 'greet_again',
          type: 'send_message',
          message: { body: 'Welcome back, {{contact.name | default: "there"}}!' },
        },
      ],
    },
  },
  {
    id: 'order-status',
    title: 'Order status',
    summary: 'Asks with buttons for the kind of question, then for the number of the order.',
    definition: {
      version: 1,
      triggers: [{ type: 'message_received', match: { mode: 'contains', values: ['my order', 'delivery'] } }],
      variables: { order: { type: 'number' } },
      steps: [
        {
          id: 'topic',
          type: 'ask',
          message: {
            body: 'What is it about?',
            buttons: [
              { id: 'status', title: 'Where is it?', next: 'number' },
              { id: 'person', title: 'Talk to a person', next: 'to_team' },
            ],
          },
          expect: { type: 'choice' },
          timeout: '1h',
          onTimeout: 'end',
        },
        {
          id: 'number',
          type: 'ask',
          message: { body: 'What is the number of your order?' },
          expect: { type: 'number', min: 1 },
          invalidMessage: { body: 'Please send the number only, such as 1042.' },
          saveAs: 'vars.order',
          onInvalid: 'to_team',
          timeout: '1h',
          onTimeout: 'end',
        },
        {
          id: 'answer',
          type: 'send_message',
          message: { body: 'Order {{vars.order}} is on its way and arrives within 2 days.' },
          next: 'end',
        },
        { id: 'to_team', type: 'handoff', reason: 'Asks about an order' },
      ],
    },
  },
  {
    id: 'opt-out',
    title: 'Opt-out',
    summary: 'Ends marketing messages for a customer who asks for it, after a confirmation.',
    definition: {
      version: 1,
      triggers: [{ type: 'message_received', match: { mode: 'contains', values: ['no more offers'] } }],
      steps: [
        {
          id: 'confirm',
          type: 'ask',
          message: {
            body: 'Do you want to get no more offers?',
            buttons: [
              { id: 'yes', title: 'Yes, stop them', next: 'opt_out' },
              { id: 'no', title: 'No, keep them', next: 'keep' },
            ],
          },
          expect: { type: 'choice' },
          timeout: '24h',
          onTimeout: 'end',
        },
        { id: 'opt_out', type: 'set_consent', marketing: 'opted_out' },
        {
          id: 'done',
          type: 'send_message',
          message: { body: 'Done: you will not receive offers any more.' },
          next: 'end',
        },
        { id: 'keep', type: 'send_message', message: { body: 'Good, nothing changes.' } },
      ],
    },
  },
]

function isWelcomed() {
  const condition = { left: '{{contact.tags}}', op: 'has_tag', right: 'welcomed' } as const
  return { name: 'known', if: condition, next: 'greet_again' }
}
