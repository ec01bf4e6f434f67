import type { SeededWorkspace } from '../../src/seed/seeded-workspace.ts'
import type { WorkflowDefinition } from '../../src/workflow-definition.ts'
import { demoId } from './ids.ts'

type DemoWorkflow = { id: string; name: string; description: string; definition: WorkflowDefinition }

const WELCOME: DemoWorkflow = {
  id: demoId('workflow', 1),
  name: 'Welcome',
  description: 'Greets customers who write for the first time',
  definition: {
    version: 1,
    triggers: [{ type: 'conversation_opened' }],
    steps: [
      {
        id: 'greet',
        type: 'send_message',
        message: {
          body: 'Hi {{contact.name}}, this is Casa Verde. How can we help? Write "order" to hear where your order is.',
        },
      },
      { id: 'remember', type: 'add_tag', tags: ['greeted'] },
    ],
  },
}

const ORDER_STATUS: DemoWorkflow = {
  id: demoId('workflow', 2),
  name: 'Order status',
  description: 'Asks for the order number and answers where the order is',
  definition: {
    version: 1,
    triggers: [{ type: 'message_received', match: { mode: 'contains', values: ['order', 'pedido', 'where is my'] } }],
    variables: { order: { type: 'number' } },
    steps: [
      {
        id: 'ask_number',
        type: 'ask',
        message: { body: 'What is your order number? It has four digits.' },
        expect: { type: 'number', min: 1000, max: 9999 },
        invalidMessage: { body: 'That does not look like an order number. It has four digits, such as 4711.' },
        attempts: 2,
        onInvalid: 'human',
        saveAs: 'vars.order',
        timeout: '1h',
        onTimeout: 'nudge',
      },
      {
        id: 'is_old',
        type: 'branch',
        cases: [{ name: 'Old order', if: { left: '{{vars.order}}', op: 'lt', right: 2000 }, next: 'too_old' }],
        else: 'answer',
      },
      {
        id: 'answer',
        type: 'send_message',
        message: { body: 'Order {{vars.order}} left our warehouse and arrives within two days.' },
        next: 'end',
      },
      { id: 'too_old', type: 'stop', status: 'failed', reason: 'Order {{vars.order}} is too old to be looked up' },
      {
        id: 'nudge',
        type: 'send_message',
        message: { body: 'Still there? Send me the order number whenever you like.' },
        next: 'end',
      },
      { id: 'human', type: 'handoff', reason: 'Could not read the order number' },
    ],
  },
}

const OPT_OUT: DemoWorkflow = {
  id: demoId('workflow', 3),
  name: 'Opt-out',
  description: 'Opts customers out who ask for it in other words than the consent keywords, and confirms',
  definition: {
    version: 1,
    triggers: [
      { type: 'message_received', match: { mode: 'contains', values: ['no more offers', 'remove me'] }, priority: 10 },
    ],
    steps: [
      { id: 'opt_out', type: 'set_consent', marketing: 'opted_out' },
      { id: 'mark', type: 'add_tag', tags: ['opted-out'] },
      {
        id: 'confirm',
        type: 'send_message',
        message: { body: 'Done. You will get no more offers from us. Write to us whenever you need something.' },
      },
    ],
  },
}

export const WORKFLOWS = { welcome: WELCOME, orderStatus: ORDER_STATUS, optOut: OPT_OUT }

export async function seedWorkflows(workspace: SeededWorkspace): Promise<void> {
  for (const { definition, ...workflow } of Object.values(WORKFLOWS)) {
    await workspace.workflow(definition, { ago: '30d', ...workflow })
  }
}
