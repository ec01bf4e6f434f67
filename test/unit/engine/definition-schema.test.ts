import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect } from 'chai'
import { WORKFLOWS } from '../../../seeds/demo/workflows.ts'
import { compileDefinition } from '../../../src/engine/compile/compile-definition.ts'
import { definitionSchema } from '../../../src/features/definition-checks/definition-schema.ts'
import { workflowLanguage } from '../../../src/workflow-language.ts'

const ID = '0199c0de-ffff-7000-8000-000000000000'
const yes = { left: '{{contact.name}}', op: 'eq', right: 1 }
const conditions = [
  yes,
  { left: '{{contact.email}}', op: 'exists' },
  { all: [yes, { any: [yes, { not: yes }] }] },
  { left: '{{contact.tags}}', op: 'has_tag', right: ['a'] },
]

/** Well-formed triggers of every type. */
const triggers: Record<string, object[]> = {
  message_received: [
    {},
    { match: { mode: 'any' } },
    { channelId: ID, match: { mode: 'regex', values: ['^a'] }, first: true, if: yes, priority: -2 },
  ],
  conversation_opened: [{}, ...conditions.map((condition) => ({ if: condition }))],
  contact_created: [{ if: yes }],
  conversation_closed: [{}],
  contact_updated: [{}, { fields: ['email', 'fields.plan'], if: yes }],
  tag_added: [{ tag: 'vip' }],
  tag_removed: [{ tag: 'vip', if: yes }],
  group_joined: [{ groupId: ID }],
  group_left: [{ groupId: ID, if: yes }],
  api: [{}],
  manual: [{ if: yes }],
  schedule: [
    { cron: '0 9 * * mon-fri', timezone: 'America/Sao_Paulo' },
    { at: '2026-03-02T09:00:00Z', groupId: ID },
  ],
  webhook: [{}, { contact: { phone: '{{input.phone}}', createIfMissing: true }, dedupeKey: '{{input.id}}' }],
  event: [{ event: 'order.paid', if: yes }],
}

/** Well-formed steps of every type, without their id and type. */
const steps: Record<string, object[]> = {
  send_message: [
    { message: { body: 'x' } },
    { message: { media: { type: 'document', url: 'https://a.example/x', filename: 'x.pdf' } } },
    { message: { body: 'x', buttons: [{ id: 'a', title: 'A' }] }, ifWindowClosed: 'skip' },
    { message: { body: `{{contact.name}}${'x'.repeat(5000)}`, media: { type: 'image', url: '{{contact.name}}' } } },
  ],
  ask: [
    { message: { body: '?' }, attempts: 2, invalidMessage: { body: '??' }, onInvalid: 'end' },
    { message: { body: '?', buttons: [{ id: 'a', title: 'A', next: 'end' }] }, expect: { type: 'choice' } },
    { message: { body: '?' }, expect: { type: 'choice', options: [{ id: 'a', title: 'A' }] } },
    { message: { body: '?' }, expect: { type: 'number', min: 1, max: 2 }, timeout: 'PT1H', onTimeout: 'end' },
  ],
  wait_for_reply: [{}, { expect: { type: 'text', pattern: '^a' }, saveAs: 'vars.a' }],
  wait: [{ for: '10m' }, { for: 'P1DT2H' }, { until: '2026-03-02T09:00' }, { untilTime: '09:30' }],
  wait_for_event: [{ event: 'order.paid' }, { event: 'x', match: yes, timeout: '2h' }],
  branch: [
    {
      cases: [
        { if: yes, next: 'end' },
        { name: 'B', if: yes, next: 'end' },
      ],
      else: 'end',
    },
  ],
  split: [
    {
      paths: [
        { weight: 1, next: 'end' },
        { name: 'B', weight: 0.5, next: 'end' },
      ],
      sticky: false,
    },
  ],
  loop: [
    { over: '{{contact.tags}}', as: 'tag', max: 10, steps: [{ id: 'in', type: 'add_note', body: '{{vars.tag}}' }] },
    { while: yes, max: 3, steps: [{ id: 'in', type: 'wait', for: '1m' }] },
  ],
  set: [{ values: { a: 1, 'vars.b': ['{{contact.name}}'] } }],
  update_contact: [{ values: { name: 'x', email: null, fields: { a: 1 } } }],
  add_tag: [{ tags: ['a', '{{contact.name}}'] }],
  remove_tag: [{ tags: ['a'], if: yes, disabled: true, onError: 'continue' }],
  add_to_group: [{ groupId: ID }],
  remove_from_group: [{ groupId: ID, name: 'N', note: 'x', next: 'end' }],
  set_consent: [{ marketing: 'opted_in' }],
  assign: [{ to: { userId: ID } }, { to: { strategy: 'least_open' } }, { to: { unassign: true } }],
  handoff: [{}, { reason: 'x', assign: { strategy: 'round_robin' }, resumeAfter: '30m' }],
  add_note: [{ body: 'x', retry: { max: 2, backoff: 'fixed', delay: '5s', maxDelay: '1m' } }],
  close_conversation: [{}],
  http: [{ url: 'https://a.example/x' }, { method: 'POST', url: 'https://a.example/{{contact.id}}', json: { a: 1 } }],
  tool: [{ tool: 'time.now' }, { tool: 'x', input: { a: '{{contact.name}}' }, timeout: '10s' }],
  ai: [{ instructions: 'x' }, { instructions: 'x', tools: ['time.now'], output: { type: 'object' } }],
  run_workflow: [{ workflowId: ID }, { workflowId: ID, input: { a: 1 }, wait: false }],
  emit: [{ event: 'order.paid' }, { event: 'x', data: { a: '{{contact.name}}' } }],
  goto: [{ to: 'end' }],
  stop: [{}, { status: 'failed', reason: 'x' }],
}

const note = { id: 'a', type: 'add_note', body: 'x' }
const step = (fields: object) => ({ steps: [{ id: 'a', ...fields }] })
const say = (message: object) => step({ type: 'send_message', message })
const asking = (expect: object) => step({ type: 'ask', message: { body: '?' }, expect })
const branching = (condition: object) => step({ type: 'branch', cases: [{ if: condition, next: 'end' }] })
const on = (trigger: object) => ({ triggers: [trigger] })

const malformed: [name: string, definition: object][] = [
  ['another version', { version: 2 }],
  ['no steps', { steps: undefined }],
  ['an unknown field', { stepz: [] }],
  ['an unknown setting', { settings: { reentri: 'queue' } }],
  ['an unknown value', { settings: { reentry: 'maybe' } }],
  ['a bad duration', { settings: { maxDuration: '3 days' } }],
  ['a variable of no type', { variables: { a: {} } }],
  ['a variable with a bad name', { variables: { 'A b': { type: 'string' } } }],
  ['too many steps', { steps: Array.from({ length: 501 }, (_, index) => ({ ...note, id: `s${index}` })) }],
  ['too many triggers', { triggers: Array(11).fill({ type: 'api' }) }],
  ['an unknown trigger', on({ type: 'full_moon' })],
  ['a trigger without a type', on({})],
  ['an unknown trigger field', on({ type: 'api', match: {} })],
  ['another name for exact', on({ type: 'message_received', match: { mode: 'equals', values: ['a'] } })],
  ['a match without values', on({ type: 'message_received', match: { mode: 'exact' } })],
  ['a schedule without a time', on({ type: 'schedule' })],
  ['a schedule with two times', on({ type: 'schedule', cron: '0 9 * * *', at: '2026-03-02T09:00:00Z' })],
  ['an event without a name', on({ type: 'event', event: 'Paid!' })],
  ['an unknown step', step({ type: 'teleport' })],
  ['steps that are none', { steps: [[], 'x', null] }],
  ['an unknown step field', { steps: [{ ...note, colour: 1 }] }],
  ['an unknown field deep inside', say({ body: 'x', picture: {} })],
  ['a reserved id', { steps: [{ ...note, id: 'end' }] }],
  ['a bad id', { steps: [{ ...note, id: 'A' }] }],
  ['four buttons', say({ body: '?', buttons: ['a', 'b', 'c', 'd'].map((id) => ({ id, title: id })) })],
  ['a long button', say({ body: '?', buttons: [{ id: 'b', title: 'x'.repeat(21) }] })],
  ['a long option', asking({ type: 'choice', options: [{ id: 'b', title: 'x'.repeat(25) }] })],
  ['a long message', say({ body: 'x'.repeat(4097) })],
  ['an empty message', say({})],
  ['a file that lies nowhere', say({ media: { type: 'image', url: 'x.png' } })],
  ['a name for a picture', say({ media: { type: 'image', url: 'https://a.example/x', filename: 'x' } })],
  ['a choice of nothing', asking({ type: 'choice' })],
  ['a wait for nothing', step({ type: 'wait' })],
  ['a wait for two things', step({ type: 'wait', for: '1m', until: '2026-03-02' })],
  ['a loop over nothing', step({ type: 'loop', max: 1, steps: [{ ...note, id: 'b' }] })],
  ['a loop through nothing', step({ type: 'loop', while: yes, max: 1, steps: [] })],
  ['a mistake in a loop', step({ type: 'loop', while: yes, max: 1, steps: [{ ...note, id: 'b', body: 7 }] })],
  ['a condition of nothing', branching({})],
  ['a condition of two forms', branching({ all: [yes], not: yes })],
  ['a comparison of two forms', branching({ ...yes, any: [yes] })],
  ['a comparison with nothing', branching({ left: 'x', op: 'eq' })],
  ['a comparison of nothing', branching({ op: 'exists' })],
  ['an unknown comparison', branching({ left: 'x', op: 'resembles', right: 1 })],
  ['an empty all', branching({ all: [] })],
  ['a mistake deep in a condition', branching({ any: [{ not: { left: 'x', op: 'eq' } }] })],
  ['a split of one way', step({ type: 'split', paths: [{ weight: 1, next: 'end' }] })],
  ['a way of no weight', step({ type: 'split', paths: [0, 1].map((weight) => ({ weight, next: 'end' })) })],
  ['nobody to assign', step({ type: 'assign', to: {} })],
  ['two to assign', step({ type: 'assign', to: { userId: ID, unassign: true } })],
  ['no variable to set', step({ type: 'set', values: {} })],
  ['a variable that cannot be set', step({ type: 'set', values: { 'contact.name': 1 } })],
  ['nothing to update', step({ type: 'update_contact', values: {} })],
  ['a group that cannot be', step({ type: 'add_to_group', groupId: 'vip' })],
]

describe('the JSON Schema of definitions', () => {
  const accepts = new Ajv2020({ strict: false, validateFormats: false }).compile(definitionSchema())

  /** As both see it: the schema, and what compiles. */
  function judge(given: object): [boolean, boolean] {
    const definition = JSON.parse(JSON.stringify({ version: 1, triggers: [], steps: [note], ...given })) as unknown
    return [accepts(definition), compileDefinition(definition, workflowLanguage).compiled !== null]
  }

  it('is tried with every type of trigger and step that there is', () => {
    expect(triggers).to.include.keys([...workflowLanguage.triggers.keys()])
    expect(steps).to.include.keys([...workflowLanguage.steps.keys()])
  })

  for (const type of workflowLanguage.triggers.keys()) {
    it(`accepts ${type} triggers as compiling does`, () => {
      for (const fields of triggers[type] ?? []) {
        expect(judge({ triggers: [{ type, ...fields }] }), JSON.stringify(fields)).to.deep.equal([true, true])
      }
    })

    it(`refuses ${type} triggers with a field too many`, () => {
      for (const fields of triggers[type] ?? []) {
        expect(judge({ triggers: [{ type, ...fields, colour: 1 }] })).to.deep.equal([false, false])
      }
    })
  }

  for (const type of workflowLanguage.steps.keys()) {
    it(`accepts ${type} steps as compiling does`, () => {
      for (const fields of steps[type] ?? []) {
        expect(judge({ steps: [{ id: 'a', type, ...fields }] }), JSON.stringify(fields)).to.deep.equal([true, true])
      }
    })

    it(`refuses ${type} steps with a field too many, or of another kind`, () => {
      for (const fields of steps[type] ?? []) {
        for (const wrong of [{ colour: 1 }, { next: 7 }, { timeout: 'soon' }, { saveAs: 'a' }, { if: {} }]) {
          const given = { steps: [{ id: 'a', type, ...fields, ...wrong }] }
          expect(judge(given), JSON.stringify(given)).to.deep.equal([false, false])
        }
      }
    })
  }

  it('accepts the demo workflows', () => {
    for (const { definition } of Object.values(WORKFLOWS)) expect(judge(definition)).to.deep.equal([true, true])
  })

  for (const [name, definition] of malformed) {
    it(`refuses ${name}, as compiling does`, () => {
      expect(judge(definition)).to.deep.equal([false, false])
    })
  }
})
