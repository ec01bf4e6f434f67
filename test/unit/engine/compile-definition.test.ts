import { expect } from 'chai'
import { compileDefinition } from '../../../src/engine/compile/compile-definition.ts'
import { workflowLanguage } from '../../../src/workflow-language.ts'
import { listProblems } from '../../support/problems.ts'
import { compile } from '../../support/workflow.ts'
import { ask, pause, say } from '../../support/steps.ts'

const steps = (...list: object[]) => ({ steps: list })
const yes = { left: '1', op: 'eq', right: 1 }
const button = (id: string, title = id, rest: object = {}) => ({ id, title, ...rest })

describe('compileDefinition', () => {
  it('compiles an empty definition with warnings', () => {
    const { compiled, errors, warnings } = compileDefinition({ version: 1, triggers: [], steps: [] }, workflowLanguage)
    expect(errors).to.deep.equal([])
    expect(compiled?.steps).to.deep.equal([])
    expect(warnings.map(({ code }) => code)).to.deep.equal(['no_triggers', 'no_steps'])
  })

  it('resolves step successors, defaults and durations in milliseconds', () => {
    const compiled = compile({
      triggers: [{ type: 'message_received' }],
      settings: { maxDuration: '7d', debounce: '2s' },
      variables: { city: { type: 'string', default: 'Rio' } },
      steps: [
        ask('a', { timeout: 'PT10M', saveAs: 'vars.city', retry: {} }),
        { id: 'b', type: 'handoff' },
        say('c', 'x'),
      ],
    })
    expect(compiled.settings).to.deep.equal({
      timezone: null,
      reentry: 'ignore',
      debounceMs: 2000,
      maxDurationMs: 604_800_000,
      pauseOnHumanReply: true,
    })
    expect(compiled.triggers).to.deep.equal([
      { type: 'message_received', match: { mode: 'any', values: [] }, first: false, priority: 0 },
    ])
    expect(compiled.variables).to.deep.equal({ city: { type: 'string', default: 'Rio', sensitive: false } })
    expect(compiled.steps.map(({ id, next, skip }) => [id, next, skip])).to.deep.equal([
      ['a', 'b', 'b'],
      ['b', 'end', 'c'],
      ['c', 'end', 'end'],
    ])
    expect(compiled.steps[0]).to.deep.include({ timeoutMs: 600_000, saveAs: 'city', onError: 'fail', disabled: false })
    expect(compiled.steps[0]?.retry).to.deep.equal({
      max: 3,
      backoff: 'exponential',
      delayMs: 2000,
      maxDelayMs: 3_600_000,
    })
  })

  it('returns plain JSON', () => {
    const compiled = compile(
      steps(ask('a', { if: { not: yes }, message: { body: '?', buttons: [button('b')] } }), pause('c')),
    )
    expect(JSON.parse(JSON.stringify(compiled))).to.deep.equal(compiled)
  })

  const errorCases: [name: string, definition: object, problems: string[]][] = [
    ['another version', { version: 2 }, ['invalid version']],
    ['no steps', { steps: undefined }, ['invalid steps']],
    ['an unknown field', { stepz: [], ui: {} }, ['unknown_field stepz']],
    ['an unknown setting', { settings: { reentri: 'queue' } }, ['unknown_field settings.reentri']],
    ['an unknown value', { settings: { reentry: 'maybe' } }, ['invalid settings.reentry']],
    ['an unknown time zone', { settings: { timezone: 'Mars/Phobos' } }, ['invalid_timezone settings.timezone']],
    ['an invalid duration', { settings: { maxDuration: '3 days' } }, ['invalid_duration settings.maxDuration']],
    ['a duration of two years', { settings: { maxDuration: '104w' } }, ['invalid_duration settings.maxDuration']],
    ['a variable without a type', { variables: { a: {} } }, ['invalid variables.a.type']],
    [
      'a default of another type',
      { variables: { a: { type: 'number', default: 'x' } } },
      ['type_mismatch variables.a.default'],
    ],
    ['a variable with an invalid name', { variables: { 'A b': { type: 'string' } } }, ['invalid variables.A b']],
    ['too many steps', steps(...Array.from({ length: 501 }, (_, i) => say(`s${i}`, 'x'))), ['invalid steps']],
    ['an unknown trigger', { triggers: [{ type: 'full_moon' }] }, ['unknown_trigger_type triggers.0.type']],
    ['a trigger without a type', { triggers: [{}] }, ['unknown_trigger_type triggers.0.type']],
    ['an unknown trigger field', { triggers: [{ type: 'api', match: {} }] }, ['unknown_field triggers.0.match']],
    [
      'an unknown match mode',
      { triggers: [{ type: 'message_received', match: { mode: 'equals', values: ['a'] } }] },
      ['invalid triggers.0.match.mode'],
    ],
    [
      'a match without values',
      { triggers: [{ type: 'message_received', match: { mode: 'exact' } }] },
      ['invalid triggers.0.match.values'],
    ],
    [
      'an invalid regular expression',
      { triggers: [{ type: 'message_received', match: { mode: 'regex', values: ['('] } }] },
      ['invalid_pattern triggers.0.match.values.0'],
    ],
    [
      'a cron expression with four fields',
      { triggers: [{ type: 'schedule', cron: '0 9 * *' }] },
      ['invalid_cron triggers.0.cron'],
    ],
    [
      'a cron expression without any occurrence',
      { triggers: [{ type: 'schedule', cron: '0 0 30 2 *' }] },
      ['invalid_cron triggers.0.cron'],
    ],
    [
      'a schedule in an unknown time zone',
      { triggers: [{ type: 'schedule', cron: '0 9 * * *', timezone: 'Mars/Olympus' }] },
      ['invalid_timezone triggers.0.timezone'],
    ],
    ['a schedule at an invalid time', { triggers: [{ type: 'schedule', at: 'tomorrow' }] }, ['invalid triggers.0.at']],
    ['a schedule without a time', { triggers: [{ type: 'schedule' }] }, ['invalid triggers.0']],
    [
      'a schedule with both cron and at',
      { triggers: [{ type: 'schedule', cron: '0 9 * * *', at: '2026-03-02T09:00:00Z' }] },
      ['invalid triggers.0'],
    ],
    [
      'two webhook triggers',
      { triggers: [{ type: 'webhook' }, { type: 'webhook' }] },
      ['duplicate_webhook triggers.1.type'],
    ],
    [
      'a webhook trigger that reads values of a run',
      {
        triggers: [
          { type: 'webhook', contact: { phone: '{{contact.phone}}' }, dedupeKey: '{{input.id}}{{vars.a}}{{now}}' },
        ],
      },
      ['unknown_root triggers.0.contact.phone', 'unknown_root triggers.0.dedupeKey'],
    ],
    [
      'an event trigger with an invalid name',
      { triggers: [{ type: 'event', event: 'Paid!' }] },
      ['invalid triggers.0.event'],
    ],
    [
      'a trigger condition with an unknown root',
      { triggers: [{ type: 'api', if: { left: '{{user.name}}', op: 'exists' } }] },
      ['unknown_root triggers.0.if.left'],
    ],
    ['an unknown step type', steps({ id: 'a', type: 'teleport' }), ['unknown_step_type steps.0.type']],
    [
      'a step that is not an object',
      steps([] as object, 'x' as never),
      ['invalid steps.0.id', 'invalid steps.0.type', 'invalid steps.1'],
    ],
    ['an unknown step field', steps(say('a', 'x', { colour: 1 })), ['unknown_field steps.0.colour']],
    [
      'an unknown nested field',
      steps({ id: 'a', type: 'send_message', message: { body: 'x', picture: {} } }),
      ['unknown_field steps.0.message.picture'],
    ],
    ['a duplicate step ID', steps(say('a', 'x'), say('a', 'y')), ['duplicate_id steps.1.id']],
    [
      'a reserved step ID',
      steps(say('end', 'x'), say('continue', 'x'), say('break', 'x')),
      ['reserved_id steps.0.id', 'reserved_id steps.1.id', 'reserved_id steps.2.id'],
    ],
    ['an invalid step ID', steps(say('A', 'x')), ['invalid steps.0.id']],
    ['an unknown next target', steps(say('a', 'x', { next: 'b' })), ['unknown_target steps.0.next']],
    ['a loop target outside a loop', steps(say('a', 'x', { next: 'break' })), ['unknown_target steps.0.next']],
    ['an unknown onError target', steps(say('a', 'x', { onError: 'b' })), ['unknown_target steps.0.onError']],
    ['an unknown onTimeout target', steps(ask('a', { onTimeout: 'b' })), ['unknown_target steps.0.onTimeout']],
    [
      'an unknown branch target',
      steps({ id: 'a', type: 'branch', cases: [{ if: yes, next: 'b' }], else: 'c' }),
      ['unknown_target steps.0.cases.0.next', 'unknown_target steps.0.else'],
    ],
    [
      'an unknown button target',
      steps(ask('a', { message: { body: '?', buttons: [button('y', 'Y', { next: 'b' })] } })),
      ['unknown_target steps.0.message.buttons.0.next'],
    ],
    ['an unknown target of a stop step', steps({ id: 'a', type: 'stop', next: 'b' }), ['unknown_target steps.0.next']],
    [
      'a placeholder with an unknown root',
      steps(say('a', 'Hi {{customer.name}}')),
      ['unknown_root steps.0.message.body'],
    ],
    [
      'a nested placeholder with an unknown root',
      steps({ id: 'a', type: 'set', values: { x: [{ y: '{{foo.bar}}' }] } }),
      ['unknown_root steps.0.values.x.0.y'],
    ],
    [
      'a condition with an unknown root',
      steps(say('a', 'x', { if: { left: '{{contact.name}}', op: 'eq', right: '{{foo}}' } })),
      ['unknown_root steps.0.if.right'],
    ],
    ['the output of an unknown step', steps(say('a', '{{steps.b.output}}')), ['unknown_step steps.0.message.body']],
    ['a step path without output', steps(say('a', '{{steps.a.value}}')), ['unknown_path steps.0.message.body']],
    ['an unclosed placeholder', steps(say('a', 'Hi {{contact.name')), ['invalid_template steps.0.message.body']],
    ['an unknown filter', steps(say('a', '{{contact.name | encrypt}}')), ['invalid_template steps.0.message.body']],
    ['a Liquid tag', steps(say('a', '{% if x %}Hi{% endif %}')), ['invalid_template steps.0.message.body']],
    [
      'eleven buttons',
      steps({
        id: 'a',
        type: 'send_message',
        message: { body: '?', buttons: [...'abcdefghijk'].map((id) => button(id)) },
      }),
      ['too_many_buttons steps.0.message.buttons'],
    ],
    [
      'four buttons with a file',
      steps({
        id: 'a',
        type: 'send_message',
        message: {
          body: '?',
          media: { type: 'image', url: 'https://a.example/x.png' },
          buttons: [...'abcd'].map((id) => button(id)),
        },
      }),
      ['too_many_buttons steps.0.message.buttons'],
    ],
    [
      'four expected options with a file',
      steps(
        ask('a', {
          message: { body: '?', media: { type: 'image', url: 'https://a.example/x.png' } },
          expect: { type: 'choice', options: [...'abcd'].map((id) => button(id)) },
        }),
      ),
      ['too_many_buttons steps.0.expect.options'],
    ],
    [
      'a link with a body that is too long',
      steps({
        id: 'a',
        type: 'send_message',
        message: { body: 'x'.repeat(1025), link: { title: 'Pay', url: 'https://a.example/pay' } },
      }),
      ['message_too_long steps.0.message.body'],
    ],
    [
      'a button title that is too long',
      steps(ask('a', { message: { body: '?', buttons: [button('b', 'x'.repeat(21))] } })),
      ['title_too_long steps.0.message.buttons.0.title'],
    ],
    [
      'an option title that is too long',
      steps(ask('a', { expect: { type: 'choice', options: [button('b', 'x'.repeat(25))] } })),
      ['title_too_long steps.0.expect.options.0.title'],
    ],
    ['a message that is too long', steps(say('a', 'x'.repeat(4097))), ['message_too_long steps.0.message.body']],
    ['a choice without options', steps(ask('a', { expect: { type: 'choice' } })), ['invalid steps.0.expect.options']],
    [
      'an invalid expected pattern',
      steps(ask('a', { expect: { type: 'text', pattern: '[' } })),
      ['invalid_pattern steps.0.expect.pattern'],
    ],
    ['a wait without a time', steps({ id: 'a', type: 'wait' }), ['invalid steps.0']],
    ['a cycle without a wait', steps(say('a', 'x'), say('b', 'x', { next: 'a' })), ['infinite_loop steps.0']],
    ['a cycle of onError targets', steps(say('a', 'x', { onError: 'a' })), ['infinite_loop steps.0']],
    [
      'a cycle with a disabled wait',
      steps(pause('a', { disabled: true }), say('b', 'x', { next: 'a' })),
      ['infinite_loop steps.0'],
    ],
    [
      'a cycle with a wait of zero length',
      steps(pause('a', { for: '0s' }), say('b', 'x', { next: 'a' })),
      ['infinite_loop steps.0'],
    ],
  ]
  for (const [name, definition, expected] of errorCases) {
    it(`rejects ${name}`, () => {
      expect(listProblems(definition)).to.deep.equal(expected)
    })
  }

  it('reports every problem with the step and a readable message', () => {
    const { compiled, errors } = compileDefinition(
      { version: 1, settings: { reentry: 1 }, steps: [say('a', '{{nobody}}'), { id: 'b', type: 'wait', for: 'x' }] },
      workflowLanguage,
    )
    expect(compiled).to.equal(null)
    expect(errors.map(({ stepId, message }) => [stepId, message.slice(0, 70)])).to.deep.equal([
      [null, 'Workflow: settings.reentry must be one of "ignore", "restart", "queue"'],
      ['b', 'Step "b": for must be a duration such as 30s, 10m, 24h, 7d or PT10M'],
      ['a', 'Step "a": message.body reads "nobody", which does not exist. A path st'],
    ])
  })

  for (const definition of [null, 7, 'x', [], { version: 1, steps: { length: 1 } }, { version: 1, steps: [null, 1] }]) {
    it(`rejects ${JSON.stringify(definition)} as a definition`, () => {
      expect(compileDefinition(definition, workflowLanguage).errors).to.not.have.lengthOf(0)
    })
  }
})
