import { expect } from 'chai'
import { matchTrigger, type TriggerMatch } from '../../../src/engine/mailbox/match-trigger.ts'
import type { CompiledDefinition } from '../../../src/engine/model/compiled.ts'
import type { WorkflowEvent } from '../../../src/triggers/events.ts'
import { workflowLanguage } from '../../../src/workflow-language.ts'
import { compile, NOON, buildFacts } from '../../support/workflow.ts'

const now = new Date(NOON)

function messageEvent(body: string | null, rest: object = {}): WorkflowEvent {
  return { type: 'message_received', channelId: 'ch1', message: { id: 'm1', body }, ...rest }
}

function findMatch(compiled: CompiledDefinition, event: WorkflowEvent): TriggerMatch | undefined {
  return matchTrigger({ compiled, event, facts: buildFacts(), now, registry: workflowLanguage })
}

function starts(trigger: object, event: WorkflowEvent): boolean {
  const match = findMatch(compile({ triggers: [trigger], steps: [] }), event)
  return match !== undefined && 'trigger' in match
}

function onMessage(match: object | undefined, rest: object = {}): object {
  return { type: 'message_received', ...(match ? { match } : {}), ...rest }
}

describe('message_received trigger', () => {
  const cases: [mode: string, values: string[], body: string | null, matches: boolean][] = [
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
  for (const [mode, values, body, matches] of cases) {
    it(`with mode ${mode} and values [${values.join(', ')}] ${matches ? 'matches' : 'does not match'} ${JSON.stringify(body)}`, () => {
      expect(starts(onMessage({ mode, values }), messageEvent(body))).to.equal(matches)
    })
  }

  it('matches any message without a match field', () => {
    expect(starts(onMessage(undefined), messageEvent('hello'))).to.equal(true)
  })

  it('matches only messages of its channel', () => {
    expect(starts(onMessage(undefined, { channelId: 'ch1' }), messageEvent('hello'))).to.equal(true)
    expect(starts(onMessage(undefined, { channelId: 'ch2' }), messageEvent('hello'))).to.equal(false)
  })

  it('matches only the first message of a conversation with first', () => {
    expect(starts(onMessage(undefined, { first: true }), messageEvent('hello', { isFirst: true }))).to.equal(true)
    expect(starts(onMessage(undefined, { first: true }), messageEvent('hello', { isFirst: false }))).to.equal(false)
    expect(starts(onMessage(undefined, { first: true }), messageEvent('hello'))).to.equal(false)
  })

  it('evaluates its condition with the message and the contact', () => {
    const isVip = {
      all: [
        { left: '{{contact}}', op: 'has_tag', right: 'VIP' },
        { left: '{{message.body}}', op: 'eq', right: 'hi' },
      ],
    }
    expect(starts(onMessage(undefined, { if: isVip }), messageEvent('Hi'))).to.equal(true)
    expect(starts(onMessage(undefined, { if: { not: isVip } }), messageEvent('Hi'))).to.equal(false)
  })
})

describe('triggers of other types', () => {
  it('match only events of their type', () => {
    const events: WorkflowEvent[] = [
      { type: 'conversation_opened' },
      { type: 'contact_created' },
      { type: 'api', input: { a: 1 } },
      { type: 'manual' },
      { type: 'tag_added', tag: 'vip' },
      messageEvent('vip'),
    ]
    for (const [index, event] of events.entries()) {
      const trigger = { type: event.type, ...(event.type === 'tag_added' ? { tag: 'vip' } : {}) }
      expect(events.map((other) => starts(trigger, other))).to.deep.equal(events.map((_, other) => other === index))
    }
  })

  it('match a tag case-insensitively', () => {
    expect(starts({ type: 'tag_added', tag: 'VIP' }, { type: 'tag_added', tag: 'vip' })).to.equal(true)
    expect(starts({ type: 'tag_added', tag: 'VIP' }, { type: 'tag_added', tag: 'vips' })).to.equal(false)
  })

  it('match a custom event by its name and evaluate its data', () => {
    const trigger = {
      type: 'event',
      event: 'order.paid',
      if: { left: '{{trigger.data.total}}', op: 'gte', right: 100 },
    }
    expect(starts(trigger, { type: 'event', event: 'order.paid', data: { total: 100 } })).to.equal(true)
    expect(starts(trigger, { type: 'event', event: 'order.paid', data: null })).to.equal(false)
    expect(starts(trigger, { type: 'event', event: 'order.sent', data: { total: 100 } })).to.equal(false)
  })

  it('never match as a schedule or webhook, which start their workflow directly', () => {
    for (const trigger of [{ type: 'webhook' }, { type: 'schedule', cron: '* * * * *' }]) {
      expect(starts(trigger, { type: 'event', event: trigger.type, data: null })).to.equal(false)
      expect(starts(trigger, messageEvent(trigger.type))).to.equal(false)
    }
  })

  it('evaluate their condition with the input', () => {
    const trigger = { type: 'api', if: { left: '{{input.total}}', op: 'gte', right: 100 } }
    expect(starts(trigger, { type: 'api', input: { total: 100 } })).to.equal(true)
    expect(starts(trigger, { type: 'api', input: null })).to.equal(false)
  })
})

describe('matchTrigger', () => {
  it('returns the matching trigger with the highest priority, the first of equal ones', () => {
    const triggers = [
      onMessage(undefined),
      onMessage(undefined, { priority: 2 }),
      onMessage(undefined, { priority: 2, first: false }),
    ]
    const compiled = compile({ triggers, steps: [] })
    expect(findMatch(compiled, messageEvent('x'))).to.deep.equal({ trigger: compiled.triggers[1], priority: 2 })
  })
})
