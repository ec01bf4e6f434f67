import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createConfig, lintFromString } from '@redocly/openapi-core'
import { Ruleset, Spectral } from '@stoplight/spectral-core'
import { oas } from '@stoplight/spectral-rulesets'
import { expect } from 'chai'
import openapiTypescript, { astToString } from 'openapi-typescript'
import ts from 'typescript'
import { MINUTE } from '../../../src/platform/time.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { createTempDir } from '../../support/temp-dir.ts'

const PROGRAM = `
import type { components, paths } from './api.ts'

type CreateContact = paths['/api/contacts']['post']['requestBody']['content']['application/json']
export const contact: CreateContact = { name: 'Ana', phone: '+14155550100' }
export const list = (query: NonNullable<paths['/api/contacts']['get']['parameters']['query']>) => query.limit
export const code: components['schemas']['ErrorCode'] = 'contact_exists'
// @ts-expect-error An unknown field
export const unknown: CreateContact = { name: 'Ana', phone: '+14155550100', fone: '' }
type Definition = components['schemas']['WorkflowDefinition']
export const say: Definition['steps'][number] = { id: 'say', type: 'send_message', message: { body: 'Hi' } }
export const definition: Definition = { version: 1, triggers: [{ type: 'api' }], steps: [say] }
// @ts-expect-error An unknown trigger
export const mistaken: Definition = { version: 1, triggers: [{ type: 'ap' }], steps: [say] }
// @ts-expect-error An unknown code
export const other: components['schemas']['ErrorCode'] = 'no_such_code'
`

describe('the served OpenAPI document', function () {
  this.timeout(6 * MINUTE)
  let app: TestApp
  let text: string

  before(async () => {
    app = await startTestApp()
    text = await (await fetch(`${app.url}/openapi.json`)).text()
  })

  after(() => app.stop())

  it('passes the rules "oas" of Spectral', async () => {
    const spectral = new Spectral()
    spectral.setRuleset(new Ruleset(oas))
    const problems = await spectral.run(JSON.parse(text))
    expect(problems.map(({ code, path, message }) => `${code} ${path.join('.')}: ${message}`)).to.deep.equal([])
  })

  it('passes the rules "recommended" of Redocly', async () => {
    const config = await createConfig({ extends: ['recommended'] })
    const problems = await lintFromString({ source: text, absoluteRef: '/openapi.json', config })
    // The ID of a workflow is a UUID, so `by-key` is none.
    const isOfKey = (message: string) => message.includes('two ambiguous paths') && message.includes('/by-key/{key}')
    const others = problems.filter(({ message }) => !isOfKey(message))
    const lines = others.map(({ ruleId, location, message }) => `${ruleId} ${location[0]?.pointer}: ${message}`)
    expect(lines).to.deep.equal([])
  })

  it('yields a client whose types compile and reject unknown fields, triggers and codes', async () => {
    const folder = createTempDir()
    try {
      writeFileSync(join(folder.path, 'api.ts'), astToString(await openapiTypescript(JSON.parse(text))))
      writeFileSync(join(folder.path, 'program.ts'), PROGRAM)
      const program = ts.createProgram([join(folder.path, 'program.ts')], {
        strict: true,
        exactOptionalPropertyTypes: true,
        noEmit: true,
        allowImportingTsExtensions: true,
        module: ts.ModuleKind.NodeNext,
        target: ts.ScriptTarget.ES2023,
        types: [],
      })
      const problems = ts.getPreEmitDiagnostics(program)
      expect(problems.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'))).to.deep.equal([])
    } finally {
      await folder.remove()
    }
  })
})
