import { readFileSync, writeFileSync } from 'node:fs'
import { expect } from 'chai'
import { format } from 'prettier'
import type { Document } from '../../../src/http/openapi/document.ts'
import { listOperations } from '../../../src/http/rest.ts'
import { appRouter } from '../../../src/router.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { openDemoSession } from '../../support/demo-session.ts'
import { ExampleRecorder, type Examples } from '../../support/record-examples.ts'
import { recordAll } from '../../support/record-examples-scenario.ts'
import { WorkspaceClient } from '../../support/workspace-client.ts'

const FILE = new URL('../../../src/http/openapi/recorded-examples.json', import.meta.url)

/** Procedures that are not recorded: they need a provider, codes of an app, a token of an email or a failed send. */
const BUILT = [
  'auth.acceptInvitation',
  'auth.deleteOrganization',
  'auth.disableTwoFactor',
  'auth.generateBackupCodes',
  'auth.getTotpUri',
  'auth.leaveOrganization',
  'auth.removeMember',
  'auth.resetPassword',
  'auth.revokeSession',
  'auth.signOut',
  'auth.updateMemberRole',
  'auth.verifyBackupCode',
  'auth.verifyTotp',
  'broadcasts.retry',
  'invitations.accept',
  'runs.signal',
  'templates.submit',
  'templates.sync',
  'templates.update',
  'webhookDeliveries.get',
  'webhookDeliveries.redeliver',
  'workflows.getDefinitionSchema',
]

describe('response examples of the OpenAPI document', function () {
  this.timeout(120_000)
  let app: TestApp
  let document: Document
  let recorder: ExampleRecorder

  before(async () => {
    app = await startTestApp()
    document = (await app.rest('GET', '/openapi.json')).body
    const demo = new WorkspaceClient(app, await openDemoSession(app))
    recorder = new ExampleRecorder(demo, document)
    await recordAll(recorder, demo)
    if (process.env['WRITE_EXAMPLES'] === '1')
      writeFileSync(FILE, await format(JSON.stringify(recorder.examples), { parser: 'json', printWidth: 120 }))
  })

  after(() => app.stop())

  it('are what the demo workspace returns, with the same fields; WRITE_EXAMPLES=1 writes them', () => {
    expect(recorder.failures).to.deep.equal([])
    const recorded = JSON.parse(readFileSync(FILE, 'utf8')) as Examples
    expect(toFields(recorded)).to.deep.equal(toFields(recorder.examples))
  })

  it('are recorded for every operation that a test can complete', () => {
    const returning = listOperations(appRouter).filter(({ meta }) => meta.status !== 204)
    const procedures = returning.map(({ procedurePath }) => procedurePath)
    expect(Object.keys(recorder.examples).concat(BUILT)).to.have.members(procedures)
  })

  it('are served in the document, without text that stands for another one', () => {
    const recorded = JSON.parse(readFileSync(FILE, 'utf8')) as Examples
    for (const { method, path, procedurePath, meta } of listOperations(appRouter)) {
      if (meta.status === 204) continue
      const response = document.paths[path]?.[method.toLowerCase()]?.responses[meta.status ?? 200]
      const example = response && 'content' in response ? response.content?.['application/json']?.example : undefined
      if (procedurePath in recorded) expect(example, procedurePath).to.deep.equal(recorded[procedurePath])
      expect(listTexts(example), procedurePath).to.not.include('text')
      const { requestBody } = document.paths[path]?.[method.toLowerCase()] ?? {}
      expect(listTexts(requestBody?.content['application/json']?.example), procedurePath).to.not.include('text')
    }
  })
})

/** The names of the fields of objects within objects. */
function toFields(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'value'
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, toFields(field)]))
}

/** The texts in a value, without the types of messages, of which one is "text". */
function listTexts(value: unknown): unknown[] {
  if (typeof value !== 'object' || value === null) return [value]
  return Object.entries(value).flatMap(([name, field]) => (name === 'type' ? [] : listTexts(field)))
}
