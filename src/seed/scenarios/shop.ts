import type { WorkflowDefinition } from '../../workflow-definition.ts'
import type { SeededWorkspace } from '../seeded-workspace.ts'
import { addContacts } from './add-contacts.ts'

const ORDER_STATUS: WorkflowDefinition = {
  version: 1,
  triggers: [{ type: 'message_received', match: { mode: 'contains', values: ['order', 'parcel'] } }],
  variables: { order: { type: 'number' } },
  steps: [
    {
      id: 'ask_number',
      type: 'ask',
      message: { body: 'What is your order number? It has four digits.' },
      expect: { type: 'number', min: 1000, max: 9999 },
      invalidMessage: { body: 'An order number has four digits, such as 4711.' },
      attempts: 2,
      onInvalid: 'human',
      saveAs: 'vars.order',
      timeout: '1d',
      onTimeout: 'end',
    },
    {
      id: 'answer',
      type: 'send_message',
      message: { body: 'Order {{vars.order}} left our warehouse and arrives within two days.' },
      next: 'end',
    },
    { id: 'human', type: 'handoff', reason: 'Could not read the order number' },
  ],
}

const WELCOME: WorkflowDefinition = {
  version: 1,
  triggers: [{ type: 'conversation_opened' }],
  steps: [{ id: 'remember', type: 'add_tag', tags: ['wrote to us'] }],
}

const CUSTOMERS: [name: string, phone: string, tags: string[]][] = [
  ['Amelia Clarke', '+447700900201', ['newsletter', 'vip']],
  ['Ben Hughes', '+447700900202', ['newsletter']],
  ['Chloe Evans', '+447700900203', ['newsletter']],
  ['Daniel Wood', '+447700900204', ['wholesale']],
  ['Ella Turner', '+447700900205', []],
  ['Freddie Hall', '+447700900206', ['newsletter']],
  ['Grace Young', '+447700900207', ['wholesale', 'vip']],
  ['Harry Green', '+447700900208', []],
]

/** Plays a shop: orders that are looked up, one that a person takes over, and offers of which a customer wants no more. */
export async function playShop(workspace: SeededWorkspace): Promise<void> {
  const [amelia, ben, chloe, , ella] = await addContacts(
    workspace,
    CUSTOMERS.map(([name, phone, tags]) => {
      const marketing = tags.includes('newsletter') ? 'opted_in' : 'unknown'
      return { name, phone, tags, consent: { marketing }, language: 'en-GB' }
    }),
  )
  if (!amelia || !ben || !chloe || !ella) return
  await workspace.workflow(WELCOME, { ago: '45d', name: 'Remember who writes' })
  await workspace.workflow(ORDER_STATUS, { name: 'Order status' })
  await workspace.broadcast({
    ago: '7d',
    name: 'Summer sale',
    body: 'Hi {{name}}, our summer sale starts today.',
    category: 'marketing',
    params: { name: '{{contact.name}}' },
    tags: ['newsletter'],
  })
  await workspace.message({ ago: '167h', contact: chloe, body: 'STOP' })
  await workspace.message({ ago: '6h', contact: amelia, body: 'Where is my order?' })
  await workspace.message({ contact: amelia, body: '4711' })
  await workspace.message({ ago: '3h', contact: ben, body: 'My parcel is broken' })
  await workspace.message({ contact: ben, body: 'I threw the box away' })
  await workspace.message({ contact: ben, body: 'so there is no number' })
  await workspace.message({ ago: '30m', contact: ella, body: 'Has my order been sent?' })
}
