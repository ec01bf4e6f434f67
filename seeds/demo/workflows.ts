import type { Knex } from 'knex'
import type { CompiledDefinition } from '../../src/engine/model/compiled.ts'
import { definitionHash } from '../../src/engine/compile/definition-hash.ts'
import { checkDefinition } from '../../src/features/definition-checks/check-definition.ts'
import { addMs, DAY } from '../../src/platform/time.ts'
import { DEMO, demoId } from './people.ts'

type DemoWorkflow = { id: string; name: string; description: string; definition: Record<string, unknown> }

const WELCOME: DemoWorkflow = {
  id: demoId('workflow', 1),
  name: 'Welcome',
  description: 'Greets whoever writes for the first time',
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
  description: 'Asks for the order number and tells where the order is',
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
  description: 'Whoever writes stop hears nothing more from workflows',
  definition: {
    version: 1,
    triggers: [
      { type: 'message_received', match: { mode: 'exact', values: ['stop', 'parar', 'unsubscribe'] }, priority: 10 },
    ],
    steps: [
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

export function compileDemo({ name, definition }: DemoWorkflow): CompiledDefinition {
  const { compiled, errors } = checkDefinition(definition, { allowsLoopback: false })
  if (!compiled)
    throw new Error(`the demo workflow ${name} is not valid: ${errors.map(({ message }) => message).join('; ')}`)
  return compiled
}

export async function seedWorkflows(tx: Knex, now: Date): Promise<void> {
  const tenant_id = DEMO.workspaceId
  const published_at = addMs(now, -30 * DAY)
  const owner = (await tx('memberships').where('workspace_id', tenant_id).first('user_id')) as { user_id: string }
  for (const workflow of Object.values(WORKFLOWS)) {
    const { id, name, description, definition } = workflow
    const times = { published_at, created_at: published_at, updated_at: published_at }
    const row = { tenant_id, id, name, description, status: 'published', draft: JSON.stringify(definition), version: 1 }
    await tx('workflows').insert({ ...row, created_by: owner.user_id, ...times })
    await tx('workflow_versions').insert({
      tenant_id,
      workflow_id: id,
      version: 1,
      hash: definitionHash(definition),
      definition: JSON.stringify(definition),
      compiled: JSON.stringify(compileDemo(workflow)),
      published_by: owner.user_id,
      published_at,
    })
  }
}
