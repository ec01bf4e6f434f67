/** Workflow definition: trigger → branch → tag → set → send. */
export const FOUR_STEP_WORKFLOW = {
  version: 1,
  triggers: [{ type: 'message_received', match: { mode: 'any' } }],
  settings: { reentry: 'parallel' },
  steps: [
    {
      id: 'check',
      type: 'branch',
      cases: [{ if: { left: '{{message.body}}', op: 'contains', right: 'hi' }, next: 'tag' }],
      else: 'end',
    },
    { id: 'tag', type: 'add_tag', tags: ['greeted'] },
    { id: 'store', type: 'set', values: { last: '{{message.body}}' } },
    { id: 'answer', type: 'send_message', message: { body: 'Hello {{contact.name}}, thanks!' } },
  ],
}
