import { expect } from 'chai'
import { compileDefinition } from '../../../src/engine/compile/compile-definition.ts'
import { didYouMean } from '../../../src/platform/closest-matches.ts'
import { workflowLanguage } from '../../../src/workflow-language.ts'
import { ask, pause, say } from '../../support/steps.ts'

const whole = (definition: object) => ({ version: 1, triggers: [{ type: 'api' }], steps: [say('a')], ...definition })
const compile = (definition: object) => compileDefinition(whole(definition), workflowLanguage)
const listMessages = (definition: object, kind: 'errors' | 'warnings') =>
  compile(definition)[kind].map(({ code, message }) => `${code} ${message}`)
const steps = (...list: object[]) => ({ steps: list })

describe('didYouMean', () => {
  const cases: [name: string, names: string[], suggestion: string | undefined][] = [
    ['nam', ['id', 'name', 'tags'], 'Did you mean name?'],
    ['emial', ['email', 'name'], 'Did you mean email?'],
    ['lang', ['name', 'language'], 'Did you mean language?'],
    ['phoneNumber', ['phone', 'name'], 'Did you mean phone?'],
    ['Name', ['name'], 'Did you mean name?'],
    ['keywords', ['channelId', 'match', 'first', 'priority'], undefined],
    ['zip', ['id'], undefined],
    ['a', [], undefined],
    ['n'.repeat(65), ['n'.repeat(64)], undefined],
  ]
  for (const [name, names, suggestion] of cases) {
    it(`answers ${name.slice(0, 20)} of ${names.join(', ').slice(0, 40)} with ${suggestion ?? 'nothing'}`, () => {
      expect(didYouMean(name, names)).to.equal(suggestion)
    })
  }

  it('compares the first 500 names only', () => {
    const others = (length: number) => Array.from({ length }, (_, index) => `other_${index}`)
    expect(didYouMean('nam', [...others(499), 'name'])).to.equal('Did you mean name?')
    expect(didYouMean('nam', [...others(500), 'name'])).to.equal(undefined)
  })

  it('takes no time for names that are too long', () => {
    const long = 'x'.repeat(500_000)
    const startedAt = process.cpuUsage()
    expect(
      didYouMean(
        long,
        Array.from({ length: 1000 }, () => `${long}y`),
      ),
    ).to.equal(undefined)
    expect(
      didYouMean(
        'x',
        Array.from({ length: 1000 }, () => `${long}y`),
      ),
    ).to.equal(undefined)
    expect(process.cpuUsage(startedAt).user).to.be.lessThan(500_000)
  })
})

describe('the check of a definition', () => {
  const suggestions: [name: string, definition: object, kind: 'errors' | 'warnings', message: RegExp][] = [
    [
      'a field of contact',
      steps(say('a', '{{contact.nam}}')),
      'warnings',
      /^unknown_field Step "a": message.body reads \{\{contact.nam\}\}: contact has no field nam. Did you mean name\? Fields of contact here: id, name, /,
    ],
    [
      'a field within contact',
      steps(say('a', '{{contact.consent.marketting}}')),
      'warnings',
      /contact.consent has no field marketting. Did you mean marketing\?/,
    ],
    [
      'a field of conversation in a condition',
      steps(say('a', 'x', { if: { left: '{{conversation.statsu}}', op: 'eq', right: 'closed' } })),
      'warnings',
      /if.left reads .*: conversation has no field statsu. Did you mean status\?/,
    ],
    [
      'a field of the message',
      steps(say('a', '{{message.text}}')),
      'warnings',
      /message has no field text. Fields of message here: id, type, body, content, at$/,
    ],
    ['a field of the workspace', steps(say('a', '{{workspace.nme}}')), 'warnings', /Did you mean name\?/],
    ['a field of the run', steps(say('a', '{{run.startedat}}')), 'warnings', /Did you mean startedAt\?/],
    ['a field of the loop', steps(say('a', '{{loop.indx}}')), 'warnings', /Did you mean index\?/],
    [
      'a field of the trigger that other types of triggers have',
      steps(say('a', '{{trigger.data.id}}')),
      'warnings',
      /trigger has no field data. Fields of trigger here: type, messageId, runId$/,
    ],
    [
      'a field of an event in the condition of a trigger',
      { triggers: [{ type: 'message_received', if: { left: '{{trigger.isfirst}}', op: 'exists' } }] },
      'warnings',
      /Trigger 1: if.left reads .*Did you mean isFirst\?/,
    ],
    [
      'a field of an output',
      steps({ id: 'h', type: 'http', url: 'https://a.example' }, say('a', '{{steps.h.output.jsn.total}}')),
      'warnings',
      /the output of the step h has no field jsn. Did you mean json\? Fields of the output: status, headers, json, text$/,
    ],
    [
      'the output of a step that has none',
      steps(pause('w'), say('a', '{{steps.w.output.until}}')),
      'warnings',
      /the step w has no output$/,
    ],
    [
      'a variable',
      { variables: { city: { type: 'string' } }, ...steps(say('a', '{{vars.ctiy}}')) },
      'warnings',
      /Did you mean city\?/,
    ],
    [
      'a root',
      steps(say('a', '{{contcat.name}}')),
      'errors',
      /Did you mean contact\? A path starts with one of contact, /,
    ],
    [
      'a variable without vars, such as the entry of a loop',
      steps({ id: 'l', type: 'loop', over: '{{input}}', as: 'row', max: 2, steps: [say('a', '{{row.x}}')] }),
      'errors',
      /reads "row", which does not exist. Did you mean vars.row\?$/,
    ],
    ['a step', steps(say('check'), say('b', '{{steps.chek.output}}')), 'errors', /Did you mean check\?/],
    ['a target', steps(say('a', 'x', { next: 'confrm' }), say('confirm')), 'errors', /Did you mean confirm\?/],
    [
      'a filter',
      steps(say('a', '{{contact.name | defalt: "x"}}')),
      'errors',
      /message.body has the unknown filter defalt. Did you mean default\?$/,
    ],
    [
      'a field of a trigger',
      { triggers: [{ type: 'message_received', matches: {} }] },
      'errors',
      /matches is an unknown field. Did you mean match\? Fields of message_received: channelId, match, first, if, priority$/,
    ],
    [
      'a field of a step that all steps have',
      steps(say('a', 'x', { nxt: 'end' })),
      'errors',
      /Did you mean next\? Fields of send_message: message, ifWindowClosed and those of every step$/,
    ],
    [
      'a field of a step without fields of its own',
      steps({ id: 'a', type: 'close_conversation', reason: 'x' }),
      'errors',
      /reason is an unknown field. Fields of close_conversation: those of every step$/,
    ],
    [
      'a field within a step',
      steps({ id: 'a', type: 'send_message', message: { body: 'x', medai: {} } }),
      'errors',
      /message.medai is an unknown field. Did you mean media\? Fields of message: body, /,
    ],
    [
      'a setting',
      { settings: { reentri: 'queue' } },
      'errors',
      /Did you mean reentry\? Fields of settings: timezone, /,
    ],
    ['a part of a definition', { step: [] }, 'errors', /Did you mean steps\? Fields of the definition: version, /],
    ['a type of step', steps({ id: 'a', type: 'sendmessage' }), 'errors', /Did you mean send_message\?/],
    [
      'an operator',
      steps(say('a', 'x', { if: { left: 'a', op: 'contain', right: 'b' } })),
      'errors',
      /if.op must be one of "eq", .*\. Did you mean contains\?$/,
    ],
    [
      'an operator by the sign of other languages',
      steps(say('a', 'x', { if: { left: 'a', op: '==', right: 'b' } })),
      'errors',
      /\. Did you mean eq\?$/,
    ],
    ['a type of trigger', { triggers: [{ type: 'mesage_received' }] }, 'errors', /Did you mean message_received\?/],
  ]
  for (const [name, definition, kind, message] of suggestions) {
    it(`describes ${name} that does not exist, and what was probably meant`, () => {
      const messages = listMessages(definition, kind)
      expect(messages).to.have.lengthOf(1)
      expect(messages[0]).to.match(message)
    })
  }

  const silent: [name: string, definition: object][] = [
    ['custom fields', steps(say('a', '{{contact.fields.plan.name}} {{contact["fields"]["x y"]}}'))],
    [
      'entries and the size of lists',
      steps(say('a', '{{contact.tags[0]}} {{contact.tags.first}} {{contact.tags.size}}')),
    ],
    ['parts that are computed', steps(say('a', '{{contact[contact.fields.key]}} {{message.content[0].x}}'))],
    [
      'data of a custom event, with any other trigger',
      {
        triggers: [{ type: 'event', event: 'paid' }, { type: 'api' }],
        ...steps(say('a', '{{trigger.data.order.id}}')),
      },
    ],
    [
      'an event in the condition of wait_for_event',
      steps({
        id: 'w',
        type: 'wait_for_event',
        event: 'paid',
        match: { left: '{{trigger.data.id}}{{trigger.event}}', op: 'exists' },
      }),
    ],
    [
      'the message of an event in the condition of its trigger',
      { triggers: [{ type: 'message_received', if: { left: '{{trigger.message.body}}', op: 'exists' } }] },
    ],
    ['the run that started this one', steps(say('a', '{{trigger.runId}}'))],
    [
      'parts of JSON that a call returns',
      steps({ id: 'h', type: 'http', url: 'https://a.example' }, say('a', '{{steps.h.output.json.a.b}}')),
    ],
    ['outputs of tools', steps({ id: 't', type: 'tool', tool: 'x' }, say('a', '{{steps.t.output.a.b}}'))],
    [
      'the error of a step that may fail',
      steps(
        { id: 'h', type: 'http', url: 'https://a.example', onError: 'continue' },
        say('a', '{{steps.h.output.error.code}}'),
      ),
    ],
    ['values of set', steps({ id: 's', type: 'set', values: { 'vars.a': 1 } }, say('a', '{{steps.s.output.a.b}}'))],
  ]
  for (const [name, definition] of silent) {
    it(`accepts ${name} without a warning`, () => {
      expect(listMessages(definition, 'errors')).to.deep.equal([])
      expect(listMessages(definition, 'warnings')).to.deep.equal([])
    })
  }

  it('gives only the first 100 unknown names a suggestion', () => {
    const many = Array.from({ length: 150 }, (_, index) => say(`s${index}`, '{{contact.nam}}'))
    const messages = listMessages(steps(...many), 'warnings')
    expect(messages).to.have.lengthOf(150)
    expect(messages.filter((message) => message.includes('Did you mean'))).to.have.lengthOf(100)
  })
})

describe('the problems of an invalid part', () => {
  const broken = { id: 'x', type: 'nope' }
  const cases: [name: string, definition: object, errors: RegExp[], warnings: RegExp[]][] = [
    [
      'an invalid trigger leaves a workflow with triggers',
      { triggers: [{ type: 'moon' }] },
      [/^unknown_trigger_type/],
      [],
    ],
    ['an invalid list of triggers has no warning of its own', { triggers: 'x' }, [/^invalid Workflow: triggers/], []],
    [
      'fields of a trigger of an unknown type are not unknown',
      { triggers: [{ type: 'moon' }], ...steps(say('a', '{{trigger.phase}}')) },
      [/^unknown_trigger_type/],
      [],
    ],
    [
      'an invalid trigger of a known type has its fields',
      { triggers: [{ type: 'event' }], ...steps(say('a', '{{trigger.data.x}} {{trigger.dta}}')) },
      [/^invalid Trigger 1: event is required/],
      [/trigger has no field dta/],
    ],
    ['an invalid step is a target', steps(say('a', 'x', { next: 'x' }), broken), [/^unknown_step_type/], []],
    ['an invalid step has an output', steps(broken, say('a', '{{steps.x.output.y}}')), [/^unknown_step_type/], []],
    [
      'an invalid step assigns its variable',
      steps(ask('q', { saveAs: 'vars.city', colour: 1 }), say('a', '{{vars.city}} {{vars.ctiy}}')),
      [/^unknown_field Step "q": colour/],
      [/vars.ctiy.*Did you mean city\?/],
    ],
    [
      'an invalid set step may assign any variable',
      steps({ id: 's', type: 'set', values: 1 }, say('a', '{{vars.city}}')),
      [/^invalid Step "s"/],
      [],
    ],
    [
      'an invalid variable is declared',
      { variables: { city: {} }, ...steps(say('a', '{{vars.city}}')) },
      [/^invalid Workflow: variables.city.type is required$/],
      [],
    ],
    [
      'the steps of an invalid loop exist, and are checked',
      steps(
        {
          id: 'l',
          type: 'loop',
          over: '{{input}}',
          steps: [say('in', '{{contact.nam}}', { next: 'out' }), say('out')],
        },
        say('a', '{{steps.in.output.messageId}}'),
      ),
      [/^invalid Step "l": max is required$/],
      [/contact has no field nam/],
    ],
    [
      'a step behind an unknown target is not unreachable',
      steps(say('a', 'x', { next: 'bb' }), say('b')),
      [/^unknown_target .* Did you mean b\?$/],
      [],
    ],
    [
      'a step behind an invalid step is not unreachable',
      steps(say('a', 'x', { next: 'end' }), broken, say('b')),
      [/nope/],
      [],
    ],
    [
      'a cycle before an invalid step is reported beside it',
      steps(say('a'), say('b', 'x', { next: 'a' }), broken),
      [/^unknown_step_type/, /^infinite_loop Steps a and b can repeat forever without waiting. Add a step that waits$/],
      [],
    ],
    [
      'an invalid setting does not hide the problems of the steps',
      { settings: { reentry: 'x' }, ...steps(say('a', '{{contact.nam}}', { next: 'end' }), say('b')) },
      [/^invalid Workflow: settings.reentry must be one of/],
      [/cannot be reached/, /contact has no field nam/],
    ],
  ]
  for (const [name, definition, errors, warnings] of cases) {
    it(`are no others: ${name}`, () => {
      const result = { errors: listMessages(definition, 'errors'), warnings: listMessages(definition, 'warnings') }
      expect(result.errors, result.errors.join('\n')).to.have.lengthOf(errors.length)
      expect(result.warnings, result.warnings.join('\n')).to.have.lengthOf(warnings.length)
      for (const [index, pattern] of errors.entries()) expect(result.errors[index]).to.match(pattern)
      for (const [index, pattern] of warnings.entries()) expect(result.warnings[index]).to.match(pattern)
    })
  }

  it('name at most ten steps of a cycle', () => {
    const many = Array.from({ length: 30 }, (_, index) => say(`s${index}`))
    const [message] = listMessages(steps(...many, say('last', 'x', { next: 's0' })), 'errors')
    expect(message).to.match(/^infinite_loop Steps s0, s1, .*, s9 and 21 more can repeat forever/)
  })

  it('say which form a value of another type must have', () => {
    const messages = listMessages(
      steps(say('a', 'x', { timeout: 60 }), { id: 'b', type: 'send_message', message: 'hi' }),
      'errors',
    )
    expect(messages).to.deep.equal([
      'invalid Step "a": timeout must be a duration such as 30s, 10m, 24h, 7d or PT10M',
      'invalid Step "b": message must be an object such as {"body": "Hello"}',
    ])
  })

  it('say that a missing value is required, also one of a few', () => {
    const [message] = listMessages({ triggers: [{ type: 'message_received', match: {} }] }, 'errors')
    expect(message).to.equal('invalid Trigger 1: match.mode is required')
  })
})
