import { expect } from 'chai'
import { matchTrigger, type TriggerMatch } from '../../../src/engine/mailbox/match-trigger.ts'
import type { CompiledDefinition } from '../../../src/engine/model/compiled.ts'
import type { WorkflowEvent } from '../../../src/triggers/events.ts'
import { workflowLanguage } from '../../../src/workflow-language.ts'
import { compile, NOON, someFacts } from '../../support/workflow.ts'

const now = new Date(NOON)

function written(body: string | null, rest: object = {}): WorkflowEvent {
  return { type: 'message_received', channelId: 'ch1', message: { id: 'm1', body }, ...rest }
}

function findMatch(compiled: CompiledDefinition, event: WorkflowEvent): TriggerMatch | undefined {
  return matchTrigger({ compiled, event, facts: someFacts(), now, registry: workflowLanguage })
}

function starts(trigger: object, event: WorkflowEvent): boolean {
  const match = findMatch(compile({ triggers: [trigger], steps: [] }), event)
  return match !== undefined && 'trigger' in match
}

function onMessage(match: object | undefined, rest: object = {}): object {
  return { type: 'message_received', ...(match ? { match } : {}), ...rest }
}

describe('a message_received trigger', () => {
  const table: [mode: string, values: string[], body: string | null, matches: boolean][] = [
    ['any', [], 'whatever', true],
    ['any', [], null, true],
    ['exact', ['price', 'precio'], ' PRICE ', true],
    ['exact', ['price'], 'the price', false],
    ['exact', ['mi  pedido'], 'Mi\npedido', true],
    ['exact', ['preço'], 'PREC\u0327O', true],
    ['contains', ['price'], 'What is the Price?', true],
    ['contains', ['price'], 'What does it cost?', false],
    ['contains', ['price'], null, false],
    ['starts_with', ['order'], 'Order 66', true],
    ['starts_with', ['order'], 'My order', false],
    ['regex', ['^#\\d+$'], '#123', true],
    ['regex', ['^#\\d+$'], 'no #123', false],
    ['regex', ['stop'], 'STOP', false],
    ['regex', ['(?i)stop'], 'STOP', true],
  ]
  for (const [mode, values, body, matches] of table) {
    it(`${mode} ${values.join(', ')} ${matches ? 'takes' : 'leaves'} ${JSON.stringify(body)}`, () => {
      expect(starts(onMessage({ mode, values }), written(body))).to.equal(matches)
    })
  }

  it('without a match takes any message', () => {
    expect(starts(onMessage(undefined), written('hello'))).to.equal(true)
  })

  it('takes the messages of its channel alone, if it names one', () => {
    expect(starts(onMessage(undefined, { channelId: 'ch1' }), written('hello'))).to.equal(true)
    expect(starts(onMessage(undefined, { channelId: 'ch2' }), written('hello'))).to.equal(false)
  })

  it('with first takes the first message of a conversation alone', () => {
    expect(starts(onMessage(undefined, { first: true }), written('hello', { isFirst: true }))).to.equal(true)
    expect(starts(onMessage(undefined, { first: true }), written('hello', { isFirst: false }))).to.equal(false)
    expect(starts(onMessage(undefined, { first: true }), written('hello'))).to.equal(false)
  })

  it('asks its condition, which sees the message and the contact', () => {
    const isVip = {
      all: [
        { left: '{{contact}}', op: 'has_tag', right: 'VIP' },
        { left: '{{message.body}}', op: 'eq', right: 'hi' },
      ],
    }
    expect(starts(onMessage(undefined, { if: isVip }), written('Hi'))).to.equal(true)
    expect(starts(onMessage(undefined, { if: { not: isVip } }), written('Hi'))).to.equal(false)
  })
})

describe('the other triggers', () => {
  it('take the event of their type alone', () => {
    const events: WorkflowEvent[] = [
      { type: 'conversation_opened' },
      { type: 'contact_created' },
      { type: 'api', input: { a: 1 } },
      { type: 'manual' },
      { type: 'tag_added', tag: 'vip' },
      written('vip'),
    ]
    for (const [index, event] of events.entries()) {
      const trigger = { type: event.type, ...(event.type === 'tag_added' ? { tag: 'vip' } : {}) }
      expect(events.map((other) => starts(trigger, other))).to.deep.equal(events.map((_, other) => other === index))
    }
  })

  it('know a tag whatever its case', () => {
    expect(starts({ type: 'tag_added', tag: 'VIP' }, { type: 'tag_added', tag: 'vip' })).to.equal(true)
    expect(starts({ type: 'tag_added', tag: 'VIP' }, { type: 'tag_added', tag: 'vips' })).to.equal(false)
  })

  it('know a custom event by its name, and see its data', () => {
    const trigger = {
      type: 'event',
      event: 'order.paid',
      if: { left: '{{trigger.data.total}}', op: 'gte', right: 100 },
    }
    expect(starts(trigger, { type: 'event', event: 'order.paid', data: { total: 100 } })).to.equal(true)
    expect(starts(trigger, { type: 'event', event: 'order.paid', data: null })).to.equal(false)
    expect(starts(trigger, { type: 'event', event: 'order.sent', data: { total: 100 } })).to.equal(false)
  })

  it('leave schedules and webhooks alone, which start their workflow themselves', () => {
    for (const trigger of [{ type: 'webhook' }, { type: 'schedule', cron: '* * * * *' }]) {
      expect(starts(trigger, { type: 'event', event: trigger.type, data: null })).to.equal(false)
      expect(starts(trigger, written(trigger.type))).to.equal(false)
    }
  })

  it('ask their condition, which sees the input', () => {
    const trigger = { type: 'api', if: { left: '{{input.total}}', op: 'gte', right: 100 } }
    expect(starts(trigger, { type: 'api', input: { total: 100 } })).to.equal(true)
    expect(starts(trigger, { type: 'api', input: null })).to.equal(false)
  })
})

describe('several triggers of a workflow', () => {
  it('count once: the one with the highest priority, then the first', () => {
    const triggers = [
      onMessage(undefined),
      onMessage(undefined, { priority: 2 }),
      onMessage(undefined, { priority: 2, first: false }),
    ]
    const compiled = compile({ triggers, steps: [] })
    expect(findMatch(compiled, written('x'))).to.deep.equal({ trigger: compiled.triggers[1], priority: 2 })
  })
})
