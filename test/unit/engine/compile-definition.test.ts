import { expect } from 'chai'
import { compileDefinition } from '../../../src/engine/compile/compile-definition.ts'
import { workflowLanguage } from '../../../src/workflow-language.ts'
import { problemsOf } from '../../support/problems.ts'
import { compile } from '../../support/workflow.ts'
import { ask, pause, say } from '../../support/steps.ts'

const steps = (...list: object[]) => ({ steps: list })
const yes = { left: '1', op: 'eq', right: 1 }
const button = (id: string, title = id, rest: object = {}) => ({ id, title, ...rest })

describe('a definition', () => {
  it('may be empty', () => {
    const { compiled, errors, warnings } = compileDefinition({ version: 1, triggers: [], steps: [] }, workflowLanguage)
    expect(errors).to.deep.equal([])
    expect(compiled?.steps).to.deep.equal([])
    expect(warnings.map(({ code }) => code)).to.deep.equal(['no_triggers', 'no_steps'])
  })

  it('names every way on, every default, and every duration in milliseconds', () => {
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

  it('is plain JSON once compiled', () => {
    const compiled = compile(
      steps(ask('a', { if: { not: yes }, message: { body: '?', buttons: [button('b')] } }), pause('c')),
    )
    expect(JSON.parse(JSON.stringify(compiled))).to.deep.equal(compiled)
  })

  const errors: [name: string, definition: object, problems: string[]][] = [
    ['another version', { version: 2 }, ['invalid version']],
    ['no steps', { steps: undefined }, ['invalid steps']],
    ['an unknown field', { stepz: [], ui: {} }, ['unknown_field stepz']],
    ['an unknown setting', { settings: { reentri: 'queue' } }, ['unknown_field settings.reentri']],
    ['an unknown value', { settings: { reentry: 'maybe' } }, ['invalid settings.reentry']],
    ['an unknown zone', { settings: { timezone: 'Mars/Phobos' } }, ['invalid_timezone settings.timezone']],
    ['a bad duration', { settings: { maxDuration: '3 days' } }, ['invalid_duration settings.maxDuration']],
    ['a duration of two years', { settings: { maxDuration: '104w' } }, ['invalid_duration settings.maxDuration']],
    ['a variable of no type', { variables: { a: {} } }, ['invalid variables.a.type']],
    [
      'a default of another type',
      { variables: { a: { type: 'number', default: 'x' } } },
      ['type_mismatch variables.a.default'],
    ],
    ['a variable with a bad name', { variables: { 'A b': { type: 'string' } } }, ['invalid variables.A b']],
    ['too many steps', steps(...Array.from({ length: 501 }, (_, i) => say(`s${i}`, 'x'))), ['invalid steps']],
    ['an unknown trigger', { triggers: [{ type: 'full_moon' }] }, ['unknown_trigger_type triggers.0.type']],
    ['a trigger without a type', { triggers: [{}] }, ['unknown_trigger_type triggers.0.type']],
    ['an unknown trigger field', { triggers: [{ type: 'api', match: {} }] }, ['unknown_field triggers.0.match']],
    [
      'another name for exact',
      { triggers: [{ type: 'message_received', match: { mode: 'equals', values: ['a'] } }] },
      ['invalid triggers.0.match.mode'],
    ],
    [
      'a match without values',
      { triggers: [{ type: 'message_received', match: { mode: 'exact' } }] },
      ['invalid triggers.0.match.values'],
    ],
    [
      'a bad expression',
      { triggers: [{ type: 'message_received', match: { mode: 'regex', values: ['('] } }] },
      ['invalid_pattern triggers.0.match.values.0'],
    ],
    ['a cron of four fields', { triggers: [{ type: 'schedule', cron: '0 9 * *' }] }, ['invalid_cron triggers.0.cron']],
    [
      'a cron that never comes',
      { triggers: [{ type: 'schedule', cron: '0 0 30 2 *' }] },
      ['invalid_cron triggers.0.cron'],
    ],
    [
      'a schedule in no zone',
      { triggers: [{ type: 'schedule', cron: '0 9 * * *', timezone: 'Mars/Olympus' }] },
      ['invalid_timezone triggers.0.timezone'],
    ],
    ['a schedule at no moment', { triggers: [{ type: 'schedule', at: 'tomorrow' }] }, ['invalid triggers.0.at']],
    ['a schedule without a time', { triggers: [{ type: 'schedule' }] }, ['invalid triggers.0']],
    [
      'a schedule with two times',
      { triggers: [{ type: 'schedule', cron: '0 9 * * *', at: '2026-03-02T09:00:00Z' }] },
      ['invalid triggers.0'],
    ],
    ['two webhooks', { triggers: [{ type: 'webhook' }, { type: 'webhook' }] }, ['duplicate_webhook triggers.1.type']],
    [
      'a webhook reading what is not known before there is a run',
      {
        triggers: [
          { type: 'webhook', contact: { phone: '{{contact.phone}}' }, dedupeKey: '{{input.id}}{{vars.a}}{{now}}' },
        ],
      },
      ['unknown_root triggers.0.contact.phone', 'unknown_root triggers.0.dedupeKey'],
    ],
    ['an event without a name', { triggers: [{ type: 'event', event: 'Paid!' }] }, ['invalid triggers.0.event']],
    [
      'a trigger reading the unknown',
      { triggers: [{ type: 'api', if: { left: '{{user.name}}', op: 'exists' } }] },
      ['unknown_root triggers.0.if.left'],
    ],
    ['an unknown step', steps({ id: 'a', type: 'teleport' }), ['unknown_step_type steps.0.type']],
    [
      'a step that is no object',
      steps([] as object, 'x' as never),
      ['invalid steps.0.id', 'invalid steps.0.type', 'invalid steps.1'],
    ],
    ['an unknown step field', steps(say('a', 'x', { colour: 1 })), ['unknown_field steps.0.colour']],
    [
      'an unknown field deep inside',
      steps({ id: 'a', type: 'send_message', message: { body: 'x', picture: {} } }),
      ['unknown_field steps.0.message.picture'],
    ],
    ['an id used twice', steps(say('a', 'x'), say('a', 'y')), ['duplicate_id steps.1.id']],
    [
      'a reserved id',
      steps(say('end', 'x'), say('continue', 'x'), say('break', 'x')),
      ['reserved_id steps.0.id', 'reserved_id steps.1.id', 'reserved_id steps.2.id'],
    ],
    ['a bad id', steps(say('A', 'x')), ['invalid steps.0.id']],
    ['a target that is not there', steps(say('a', 'x', { next: 'b' })), ['unknown_target steps.0.next']],
    ['a loop target outside of a loop', steps(say('a', 'x', { next: 'break' })), ['unknown_target steps.0.next']],
    ['an error target that is not there', steps(say('a', 'x', { onError: 'b' })), ['unknown_target steps.0.onError']],
    ['a timeout target that is not there', steps(ask('a', { onTimeout: 'b' })), ['unknown_target steps.0.onTimeout']],
    [
      'a case target that is not there',
      steps({ id: 'a', type: 'branch', cases: [{ if: yes, next: 'b' }], else: 'c' }),
      ['unknown_target steps.0.cases.0.next', 'unknown_target steps.0.else'],
    ],
    [
      'a button target that is not there',
      steps(ask('a', { message: { body: '?', buttons: [button('y', 'Y', { next: 'b' })] } })),
      ['unknown_target steps.0.message.buttons.0.next'],
    ],
    [
      'a target of a stop that is not there',
      steps({ id: 'a', type: 'stop', next: 'b' }),
      ['unknown_target steps.0.next'],
    ],
    ['a root that is not known', steps(say('a', 'Hi {{customer.name}}')), ['unknown_root steps.0.message.body']],
    [
      'a root that is not known, deep inside',
      steps({ id: 'a', type: 'set', values: { x: [{ y: '{{foo.bar}}' }] } }),
      ['unknown_root steps.0.values.x.0.y'],
    ],
    [
      'a root that is not known, in a condition',
      steps(say('a', 'x', { if: { left: '{{contact.name}}', op: 'eq', right: '{{foo}}' } })),
      ['unknown_root steps.0.if.right'],
    ],
    ['the output of no step', steps(say('a', '{{steps.b.output}}')), ['unknown_step steps.0.message.body']],
    ['a step without its output', steps(say('a', '{{steps.a.value}}')), ['unknown_path steps.0.message.body']],
    ['a broken placeholder', steps(say('a', 'Hi {{contact.name')), ['invalid_template steps.0.message.body']],
    ['an unknown filter', steps(say('a', '{{contact.name | encrypt}}')), ['invalid_template steps.0.message.body']],
    ['a tag', steps(say('a', '{% if x %}Hi{% endif %}')), ['invalid_template steps.0.message.body']],
    [
      'four buttons',
      steps({
        id: 'a',
        type: 'send_message',
        message: { body: '?', buttons: ['a', 'b', 'c', 'd'].map((id) => button(id)) },
      }),
      ['too_many_buttons steps.0.message.buttons'],
    ],
    [
      'a long button',
      steps(ask('a', { message: { body: '?', buttons: [button('b', 'x'.repeat(21))] } })),
      ['title_too_long steps.0.message.buttons.0.title'],
    ],
    [
      'a long option',
      steps(ask('a', { expect: { type: 'choice', options: [button('b', 'x'.repeat(25))] } })),
      ['title_too_long steps.0.expect.options.0.title'],
    ],
    ['a long message', steps(say('a', 'x'.repeat(4097))), ['message_too_long steps.0.message.body']],
    ['a choice of nothing', steps(ask('a', { expect: { type: 'choice' } })), ['invalid steps.0.expect.options']],
    [
      'a bad expected pattern',
      steps(ask('a', { expect: { type: 'text', pattern: '[' } })),
      ['invalid_pattern steps.0.expect.pattern'],
    ],
    ['a wait for nothing', steps({ id: 'a', type: 'wait' }), ['invalid steps.0']],
    ['a circle', steps(say('a', 'x'), say('b', 'x', { next: 'a' })), ['infinite_loop steps.0']],
    ['a circle of errors', steps(say('a', 'x', { onError: 'a' })), ['infinite_loop steps.0']],
    [
      'a circle round a wait that is switched off',
      steps(pause('a', { disabled: true }), say('b', 'x', { next: 'a' })),
      ['infinite_loop steps.0'],
    ],
    [
      'a circle round a wait for no time',
      steps(pause('a', { for: '0s' }), say('b', 'x', { next: 'a' })),
      ['infinite_loop steps.0'],
    ],
  ]
  for (const [name, definition, expected] of errors) {
    it(`is refused with ${name}`, () => {
      expect(problemsOf(definition)).to.deep.equal(expected)
    })
  }

  it('is refused with everything that is wrong, each in a sentence', () => {
    const { compiled, errors } = compileDefinition(
      { version: 1, settings: { reentry: 1 }, steps: [say('a', '{{nobody}}'), { id: 'b', type: 'wait', for: 'x' }] },
      workflowLanguage,
    )
    expect(compiled).to.equal(null)
    expect(errors.map(({ stepId, message }) => [stepId, message.slice(0, 70)])).to.deep.equal([
      [null, 'Workflow: settings.reentry must be one of "ignore", "restart", "queue"'],
      ['b', 'Step "b": for must be a duration such as 30s, 10m, 24h, 7d or PT10M'],
      ['a', 'Step "a": message.body reads "nobody", which does not exist: a path st'],
    ])
  })

  for (const given of [null, 7, 'x', [], { version: 1, steps: { length: 1 } }, { version: 1, steps: [null, 1] }]) {
    it(`is refused as ${JSON.stringify(given)}`, () => {
      expect(compileDefinition(given, workflowLanguage).errors).to.not.have.lengthOf(0)
    })
  }
})
