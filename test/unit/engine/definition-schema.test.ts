import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect } from 'chai'
import { WORKFLOWS } from '../../../seeds/demo/workflows.ts'
import { compileDefinition } from '../../../src/engine/compile/compile-definition.ts'
import { definitionSchema } from '../../../src/features/workflows/definition-schema.ts'
import { workflowLanguage } from '../../../src/workflow-language.ts'
import { ID, steps, triggers, yes } from '../../support/definition-examples.ts'
import { listFields } from '../../support/definition-fields.ts'

const note = { id: 'a', type: 'add_note', body: 'x' }
const step = (fields: object) => ({ steps: [{ id: 'a', ...fields }] })
const say = (message: object) => step({ type: 'send_message', message })
const asking = (expect: object) => step({ type: 'ask', message: { body: '?' }, expect })
const branching = (condition: object) => step({ type: 'branch', cases: [{ if: condition, next: 'end' }] })
const on = (trigger: object) => ({ triggers: [trigger] })

const invalidDefinitions: [name: string, definition: object][] = [
  ['another version', { version: 2 }],
  ['no steps', { steps: undefined }],
  ['an unknown field', { stepz: [] }],
  ['an unknown setting', { settings: { reentri: 'queue' } }],
  ['an unknown value', { settings: { reentry: 'maybe' } }],
  ['an invalid duration', { settings: { maxDuration: '3 days' } }],
  ['a variable without a type', { variables: { a: {} } }],
  ['a variable with an invalid name', { variables: { 'A b': { type: 'string' } } }],
  ['too many steps', { steps: Array.from({ length: 501 }, (_, index) => ({ ...note, id: `s${index}` })) }],
  ['too many triggers', { triggers: Array(11).fill({ type: 'api' }) }],
  ['an unknown trigger type', on({ type: 'full_moon' })],
  ['a trigger without a type', on({})],
  ['an unknown trigger field', on({ type: 'api', match: {} })],
  ['an unknown match mode', on({ type: 'message_received', match: { mode: 'equals', values: ['a'] } })],
  ['a match without values', on({ type: 'message_received', match: { mode: 'exact' } })],
  ['a schedule without a time', on({ type: 'schedule' })],
  ['a schedule with both cron and at', on({ type: 'schedule', cron: '0 9 * * *', at: '2026-03-02T09:00:00Z' })],
  ['an event trigger with an invalid name', on({ type: 'event', event: 'Paid!' })],
  ['an unknown step type', step({ type: 'teleport' })],
  ['steps that are not objects', { steps: [[], 'x', null] }],
  ['an unknown step field', { steps: [{ ...note, colour: 1 }] }],
  ['an unknown nested field', say({ body: 'x', picture: {} })],
  ['a reserved step ID', { steps: [{ ...note, id: 'end' }] }],
  ['an invalid step ID', { steps: [{ ...note, id: 'A' }] }],
  ['eleven buttons', say({ body: '?', buttons: [...'abcdefghijk'].map((id) => ({ id, title: id })) })],
  ['two kinds of content', say({ body: 'x', sticker: { url: 'https://a.example/x.webp' } })],
  ['a list without a body', say({ list: { button: 'Open', options: [{ id: 'a', title: 'A' }] } })],
  ['a location outside the globe', say({ location: { latitude: 91, longitude: 0 } })],
  ['a button title that is too long', say({ body: '?', buttons: [{ id: 'b', title: 'x'.repeat(21) }] })],
  ['an option title that is too long', asking({ type: 'choice', options: [{ id: 'b', title: 'x'.repeat(25) }] })],
  ['a message that is too long', say({ body: 'x'.repeat(4097) })],
  ['an empty message', say({})],
  ['media with an invalid URL', say({ media: { type: 'image', url: 'x.png' } })],
  ['an image with a file name', say({ media: { type: 'image', url: 'https://a.example/x', filename: 'x' } })],
  ['a choice without options', asking({ type: 'choice' })],
  ['a wait without a time', step({ type: 'wait' })],
  ['a wait with two times', step({ type: 'wait', for: '1m', until: '2026-03-02' })],
  ['a loop without over and while', step({ type: 'loop', max: 1, steps: [{ ...note, id: 'b' }] })],
  ['a loop without steps', step({ type: 'loop', while: yes, max: 1, steps: [] })],
  ['an invalid step in a loop', step({ type: 'loop', while: yes, max: 1, steps: [{ ...note, id: 'b', body: 7 }] })],
  ['an empty condition', branching({})],
  ['a condition with both all and not', branching({ all: [yes], not: yes })],
  ['a comparison with both op and any', branching({ ...yes, any: [yes] })],
  ['a comparison without a right side', branching({ left: 'x', op: 'eq' })],
  ['a comparison without a left side', branching({ op: 'exists' })],
  ['an unknown operator', branching({ left: 'x', op: 'resembles', right: 1 })],
  ['an empty all condition', branching({ all: [] })],
  ['an invalid nested condition', branching({ any: [{ not: { left: 'x', op: 'eq' } }] })],
  ['a split with one path', step({ type: 'split', paths: [{ weight: 1, next: 'end' }] })],
  [
    'a split with a path of zero weight',
    step({ type: 'split', paths: [0, 1].map((weight) => ({ weight, next: 'end' })) }),
  ],
  ['an assign step without an assignee', step({ type: 'assign', to: {} })],
  ['an assign step with two targets', step({ type: 'assign', to: { userId: ID, unassign: true } })],
  ['a set step without values', step({ type: 'set', values: {} })],
  ['a set step that sets a contact field', step({ type: 'set', values: { 'contact.name': 1 } })],
  ['an update_contact step without values', step({ type: 'update_contact', values: {} })],
  ['an invalid group ID', step({ type: 'add_to_group', groupId: 'vip' })],
]

describe('JSON Schema of definitions', () => {
  const accepts = new Ajv2020({ strict: false, validateFormats: false }).compile(definitionSchema())

  /** Returns whether the schema accepts the definition and whether it compiles. */
  function validate(fields: object): [bySchema: boolean, byCompiler: boolean] {
    const definition = JSON.parse(JSON.stringify({ version: 1, triggers: [], steps: [note], ...fields })) as unknown
    return [accepts(definition), compileDefinition(definition, workflowLanguage).compiled !== null]
  }

  it('describes every field of a definition, of each trigger and step, and of the objects within them', () => {
    const { $defs, ...definition } = definitionSchema() as { $defs: Record<string, object> }
    const missing = Object.entries({ ...$defs, definition }).flatMap(([name, schema]) =>
      listFields(schema)
        .filter(({ meaning }) => meaning.split(' ').length < 2)
        .map(({ path }) => `${name} ${path}`),
    )
    expect(missing).to.deep.equal([])
  })

  it('is tested with every trigger and step type', () => {
    expect(triggers).to.include.keys([...workflowLanguage.triggers.keys()])
    expect(steps).to.include.keys([...workflowLanguage.steps.keys()])
  })

  for (const type of workflowLanguage.triggers.keys()) {
    it(`accepts valid ${type} triggers like the compiler`, () => {
      for (const fields of triggers[type] ?? []) {
        expect(validate({ triggers: [{ type, ...fields }] }), JSON.stringify(fields)).to.deep.equal([true, true])
      }
    })

    it(`rejects ${type} triggers with an unknown field like the compiler`, () => {
      for (const fields of triggers[type] ?? []) {
        expect(validate({ triggers: [{ type, ...fields, colour: 1 }] })).to.deep.equal([false, false])
      }
    })
  }

  for (const type of workflowLanguage.steps.keys()) {
    it(`accepts valid ${type} steps like the compiler`, () => {
      for (const fields of steps[type] ?? []) {
        expect(validate({ steps: [{ id: 'a', type, ...fields }] }), JSON.stringify(fields)).to.deep.equal([true, true])
      }
    })

    it(`rejects ${type} steps with an unknown field or a wrong field type like the compiler`, () => {
      for (const fields of steps[type] ?? []) {
        for (const invalid of [{ colour: 1 }, { next: 7 }, { timeout: 'soon' }, { saveAs: 'a' }, { if: {} }]) {
          const definition = { steps: [{ id: 'a', type, ...fields, ...invalid }] }
          expect(validate(definition), JSON.stringify(definition)).to.deep.equal([false, false])
        }
      }
    })
  }

  it('accepts the demo workflows', () => {
    for (const { definition } of Object.values(WORKFLOWS)) expect(validate(definition)).to.deep.equal([true, true])
  })

  for (const [name, definition] of invalidDefinitions) {
    it(`rejects ${name} like the compiler`, () => {
      expect(validate(definition)).to.deep.equal([false, false])
    })
  }
})
