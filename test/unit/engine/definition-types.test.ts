import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import ts from 'typescript'
import { WORKFLOWS } from '../../../seeds/demo/workflows.ts'
import { getField } from '../../../src/platform/fields.ts'
import { type Condition, defineWorkflow, type Step, type Trigger } from '../../../src/workflow-definition.ts'
import { steps, triggers } from '../../support/definition-examples.ts'
import { renderDefinitionTypes } from '../../support/definition-types.ts'
import { readDocument, ROOT } from '../../support/documents.ts'
import { createTempDir, type TempDir } from '../../support/temp-dir.ts'

const FILE = join(ROOT, 'src/workflow-definition.ts')

/** A value in a document, and the type that it should have. */
type Example = { type: string; value: unknown }

function listDocumentExamples(path: string): Example[] {
  return readDocument(path)
    .blocks.filter(({ language }) => language === 'json')
    .map(({ text }) => toExample(JSON.parse(text)))
}

function toExample(value: unknown): Example {
  if (getField(value, 'version') === 1) return { type: 'WorkflowDefinition', value }
  if (getField(value, 'definition')) return toExample(getField(value, 'definition'))
  if (getField(value, 'all')) return { type: 'Condition', value }
  if (getField(value, 'dialogue')) return { type: 'object', value }
  return { type: getField(value, 'id') === undefined ? 'Trigger' : 'Step', value }
}

function listRegisteredExamples(): Example[] {
  const withType = (examples: Record<string, object[]>, fields: object) =>
    Object.entries(examples).flatMap(([type, list]) => list.map((example) => ({ ...fields, type, ...example })))
  return [
    ...withType(triggers, {}).map((value) => ({ type: 'Trigger', value })),
    ...withType(steps, { id: 'a' }).map((value) => ({ type: 'Step', value })),
  ]
}

describe('src/workflow-definition.ts', () => {
  let folder: TempDir

  before(() => {
    folder = createTempDir()
  })

  after(() => folder.remove())

  /** Returns the errors of the type checker, each with the example that it is about. */
  function check(examples: Example[]): string[] {
    const path = join(folder.path, 'examples.ts')
    const lines = examples.map(
      ({ type, value }, index) => `export const example${index}: ${type} = ${JSON.stringify(value)}`,
    )
    const header = `import type { Condition, Step, Trigger, WorkflowDefinition } from '${FILE}'`
    const used = 'export type Used = Condition | Step | Trigger | WorkflowDefinition'
    writeFileSync(path, [header, ...lines, used].join('\n'))
    const program = ts.createProgram([path], {
      strict: true,
      exactOptionalPropertyTypes: true,
      noEmit: true,
      allowImportingTsExtensions: true,
      module: ts.ModuleKind.NodeNext,
      target: ts.ScriptTarget.ES2023,
      lib: ['lib.es2023.d.ts'],
      types: [],
    })
    return ts.getPreEmitDiagnostics(program).map(({ file, start = 0, messageText }) => {
      const line = file?.getLineAndCharacterOfPosition(start).line ?? 0
      return `${ts.flattenDiagnosticMessageText(messageText, '\n')}: ${JSON.stringify(examples[line - 1]?.value)}`
    })
  }

  it('has the types of the JSON Schema of definitions; WRITE_TYPES=1 writes it', async () => {
    const rendered = await renderDefinitionTypes()
    if (process.env['WRITE_TYPES'] === '1') writeFileSync(FILE, rendered)
    expect(readFileSync(FILE, 'utf8')).to.equal(rendered)
  })

  it('accepts valid triggers and steps of every type, and the demo workflows', () => {
    const demo = Object.values(WORKFLOWS).map(({ definition }) => toExample(definition))
    expect(check([...listRegisteredExamples(), ...demo])).to.deep.equal([])
  })

  it('accepts the definitions, triggers, steps and conditions in the documents', () => {
    const files = readdirSync(join(ROOT, 'docs/examples')).map((name) => join(ROOT, 'docs/examples', name))
    const examples = [
      ...['workflow-language', 'recipes', 'tutorial'].flatMap((name) => listDocumentExamples(`docs/${name}.md`)),
      ...files.map((path) => toExample(JSON.parse(readFileSync(path, 'utf8')))),
    ]
    const types = new Set(examples.map(({ type }) => type))
    expect([...types]).to.include.members(['WorkflowDefinition', 'Condition', 'Trigger', 'Step'])
    expect(check(examples)).to.deep.equal([])
  })

  it('rejects mistakes with a short message', () => {
    const step = (fields: object) => ({ type: 'Step', value: { id: 'a', ...fields } })
    const errors = check([
      step({ type: 'send_mesage', message: { body: 'x' } }),
      step({ type: 'send_message', mesage: { body: 'x' } }),
      step({ type: 'add_note' }),
    ])
    expect(errors).to.have.length(3)
    expect(errors[0]).to.include(`Did you mean '"send_message"'?`)
    expect(errors[1]).to.include("does not exist in type 'SendMessageStep'")
    expect(errors[2]).to.include("Property 'body' is missing")
    for (const error of errors) expect(error.length).to.be.lessThan(500)
  })

  it('does not compile with a mistake, at any depth', () => {
    const trigger = (value: Trigger) => value
    const step = (value: Step) => value
    const say = (message: Extract<Step, { type: 'send_message' }>['message']) => message
    const condition = (value: Condition) => value
    const loop = { id: 'a', type: 'loop', max: 3, while: condition({ left: 'x', op: 'exists' }) } as const
    const values = [
      // @ts-expect-error -- another version
      defineWorkflow({ version: 2, steps: [] }),
      // @ts-expect-error -- no steps
      defineWorkflow({ version: 1 }),
      // @ts-expect-error -- an unknown field
      defineWorkflow({ version: 1, steps: [], stepz: [] }),
      // @ts-expect-error -- an unknown setting
      defineWorkflow({ version: 1, steps: [], settings: { reentri: 'queue' } }),
      // @ts-expect-error -- a variable without a type
      defineWorkflow({ version: 1, steps: [], variables: { city: {} } }),
      // @ts-expect-error -- an unknown type
      trigger({ type: 'full_moon' }),
      // @ts-expect-error -- no time
      trigger({ type: 'schedule' }),
      // @ts-expect-error -- no values
      trigger({ type: 'message_received', match: { mode: 'exact' } }),
      // @ts-expect-error -- an unknown type
      step({ id: 'a', type: 'send_mesage', message: { body: 'x' } }),
      // @ts-expect-error -- no ID
      step({ type: 'add_note', body: 'x' }),
      // @ts-expect-error -- an unknown field
      step({ id: 'a', type: 'add_note', body: 'x', colour: 1 }),
      // @ts-expect-error -- two times
      step({ id: 'a', type: 'wait', for: '1m', untilTime: '09:30' }),
      // @ts-expect-error -- two assignees
      step({ id: 'a', type: 'assign', to: { userId: 'x', unassign: true } }),
      // @ts-expect-error -- a mistake in the body
      step({ ...loop, steps: [{ id: 'b', type: 'add_note' }] }),
      // @ts-expect-error -- no content
      say({}),
      // @ts-expect-error -- two kinds of content
      say({ body: 'x', sticker: { mediaId: 'x' } }),
      // @ts-expect-error -- an unknown operator
      condition({ left: 'x', op: 'resembles', right: 1 }),
      // @ts-expect-error -- no right side
      condition({ all: [{ left: 'x', op: 'eq' }] }),
    ]
    expect(values).to.have.length(18)
  })
})
