import { expect } from 'chai'
import { liquid } from '../../src/engine/language/liquid.ts'
import { ROOTS } from '../../src/engine/language/values.ts'
import { definitionSchema } from '../../src/features/workflows/definition-schema.ts'
import { checkDefinition } from '../../src/features/definition-checks/check-definition.ts'
import type { Fields } from '../../src/engine/language/fields.ts'
import { FACTS } from '../../src/triggers/facts.ts'
import { workflowLanguage } from '../../src/workflow-language.ts'
import { type Field, listFields } from '../support/definition-fields.ts'
import { listTableRows, readDocument, sectionOf } from '../support/documents.ts'

const document = readDocument('docs/workflow-language.md')
const examples = document.blocks.filter(({ language }) => language === 'json')
const schema = definitionSchema() as { $defs: Record<string, unknown> }
const types = Object.keys(schema.$defs)
const triggerTypes = types.filter((name) => name.startsWith('trigger_')).map((name) => name.slice('trigger_'.length))
const stepTypes = types.filter((name) => name.startsWith('step_')).map((name) => name.slice('step_'.length))

/** Headings of the types in one of the two reference sections. */
function listHeadings(section: string): string[] {
  return [...sectionOf(document, section).matchAll(/^### (.*)$/gm)].map(([, heading = '']) => heading)
}

/** Returns a cell as the description in the schema: a sentence without links. */
function toText(meaning: string): string {
  return meaning.replaceAll(/\[([^\]]+)\]\(#[^)]+\)/g, '$1').replace(/^[a-z]/, (letter) => letter.toUpperCase())
}

function expectFields(heading: string, fields: Field[]): void {
  const [table = ''] = sectionOf(document, heading).split(/^###? /m)
  const rows = listTableRows(table).filter((row) => row.length === 4)
  const actual = rows.map(([path, type, initial, meaning = '']) => ({ path, type, initial, meaning: toText(meaning) }))
  expect(actual, `fields of "${heading}"`).to.deep.equal(fields)
  for (const { path, meaning } of actual) expect(meaning.split(' ').length, `${heading}: ${path}`).to.be.greaterThan(1)
}

const isBaseField = ({ path }: Field) =>
  Object.hasOwn(workflowLanguage.stepBase.shape, path.replaceAll('`', '').split('.')[0] ?? '')

describe('docs/workflow-language.md', () => {
  it('describes every registered trigger type and no other', () => {
    expect(listHeadings('Triggers')).to.have.members(triggerTypes)
  })

  it('describes every registered step type and no other', () => {
    expect(listHeadings('Steps')).to.have.members(stepTypes)
  })

  it('describes the fields of a definition', () => expectFields('Definition', listFields(schema)))

  it('describes the fields of a condition', () => expectFields('Conditions', listFields(schema.$defs['Condition'])))

  it('describes the fields that every step has', () => {
    const fields = listFields(schema.$defs['step_goto']).filter(isBaseField)
    expectFields(
      'Steps',
      fields.filter(({ path }) => path !== '`type`'),
    )
  })

  for (const type of triggerTypes) {
    it(`describes the fields of the trigger ${type}`, () => {
      const fields = listFields(schema.$defs[`trigger_${type}`])
      expectFields(
        type,
        fields.filter(({ path }) => path !== '`type`'),
      )
    })
  }

  for (const type of stepTypes) {
    it(`describes the fields of the step ${type}`, () => {
      const fields = listFields(schema.$defs[`step_${type}`])
      expectFields(
        type,
        fields.filter((field) => !isBaseField(field)),
      )
    })
  }

  it('lists every root that placeholders can read', () => {
    const rows = listTableRows(sectionOf(document, 'Templates'))
    const roots = rows.flatMap(([names = '']) => names.split(', ').map((name) => name.replaceAll('`', '')))
    expect(roots).to.have.members([...ROOTS])
  })

  for (const root of ['contact', 'conversation', 'message'] as const) {
    it(`lists every field of ${root}`, () => {
      const rows = listTableRows(sectionOf(document, root))
      expect(rows.flatMap(([name = '']) => listNames(name))).to.have.members(listPaths(FACTS[root]))
      for (const [name, meaning] of rows) expect(meaning, `meaning of ${name}`).to.not.equal('')
    })
  }

  for (const root of ['workspace', 'workflow', 'run', 'loop'] as const) {
    it(`lists every field of ${root}`, () => {
      const row = listTableRows(sectionOf(document, 'Templates')).find(([names = '']) =>
        listNames(names).includes(root),
      )
      expect(listNames(row?.[1] ?? '')).to.have.members(Object.keys(workflowLanguage.roots[root] ?? {}))
    })
  }

  it('lists every field of a trigger, in the run and in its condition', () => {
    const rows = listTableRows(sectionOf(document, 'trigger'))
    const fields = rows.map(([type = '', run = '', condition = '']) => [type, listNames(run), listNames(condition)])
    const expected = [...workflowLanguage.triggers.values()].map(({ type, recorded }) => {
      return [`\`${type}\``, [...recorded], Object.keys(workflowLanguage.events.get(type) ?? {})]
    })
    expect(fields).to.deep.equal(expected)
  })

  for (const { type, output } of workflowLanguage.steps.values()) {
    it(`lists every field of the output of ${type}`, () => {
      const paragraph = /^Output: .*$/m.exec(sectionOf(document, type))?.[0] ?? ''
      const names = [...paragraph.matchAll(/"(\w+)"/g)].map(([, name = '']) => name)
      const fields = Object.keys(output({ values: {}, wait: true }) ?? {})
      expect([...new Set(names)]).to.include.members(fields)
      if (fields.length === 0) expect(names).to.deep.equal([])
    })
  }

  it('lists every filter', () => {
    const [, list = ''] = document.text.split('<!-- filters -->')
    const filters = [...(list.trim().split('\n')[0] ?? '').matchAll(/`(\w+)`/g)].map(([, name = '']) => name)
    expect(filters).to.have.members(Object.keys(liquid.filters).filter((name) => name !== 'raw'))
  })

  it('lists every operator of conditions', () => {
    const { properties } = schema.$defs['Condition'] as { properties: { op: { enum: string[] } } }
    const rows = listTableRows(sectionOf(document, 'Conditions')).filter((row) => row.length === 2)
    const operators = rows.flatMap(([names = '']) => [...names.matchAll(/`(\w+)`/g)].map(([, name = '']) => name))
    expect(operators).to.have.members(properties.op.enum)
  })

  it('shows an example of every trigger and step', () => {
    const shown = examples.map(({ heading, text }) => `${heading}: ${(JSON.parse(text) as Example).type}`)
    expect(shown).to.include.members([...triggerTypes, ...stepTypes].map((type) => `${type}: ${type}`))
  })

  it('shows only examples that can be published', () => {
    for (const { text, line } of examples) {
      const { errors } = checkDefinition(completeDefinition(JSON.parse(text)), { allowsLoopback: false })
      expect(errors, `docs/workflow-language.md:${line}`).to.deep.equal([])
    }
  })
})

function listNames(cell: string): string[] {
  return [...cell.matchAll(/`([\w.]+)`/g)].map(([, name = '']) => name)
}

function listPaths(fields: Fields): string[] {
  return Object.entries(fields).flatMap(([name, inner]) =>
    inner ? listPaths(inner).map((path) => `${name}.${path}`) : [name],
  )
}

type Example = { type?: string; steps?: unknown; version?: number }

/** A whole definition around an example of a definition, a trigger, a step or a condition. */
function completeDefinition(example: Example): unknown {
  if (example.version) return example
  const { type } = example
  const start = { version: 1, triggers: [{ type: 'manual' }], variables: { total: { type: 'number' } } }
  if (!type) return { ...start, steps: [{ id: 'done', type: 'stop', if: example }] }
  if (triggerTypes.includes(type)) return { ...start, triggers: [example], steps: [{ id: 'done', type: 'stop' }] }
  const variables = Object.fromEntries(['city', 'quote', 'size'].map((name) => [name, { type: 'object' }]))
  const targets = [...JSON.stringify(example).matchAll(/"(?:next|else|to)":"(\w+)"/g)].map(([, id]) => id)
  return { ...start, variables, steps: [example, ...targets.map((id) => ({ id, type: 'stop' }))] }
}
