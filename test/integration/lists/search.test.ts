import { expect } from 'chai'
import { buildContact, buildWorkspace } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

describe('search of contacts', () => {
  let app: TestApp
  let workspace: WorkspaceClient

  before(async () => {
    app = await startTestApp()
    workspace = await buildWorkspace(app)
    await buildContact(workspace, { name: 'José Müller', phone: '+34600111222', email: 'Jose@Example.com' })
    await buildContact(workspace, { name: 'Łucja Żak', phone: '+48600111222', externalId: 'crm-77' })
    await buildContact(workspace, { name: '王小明', phone: '+8613800138000' })
    await buildContact(workspace, { name: '100%_sure', phone: '+4915788000001' })
    await buildContact(workspace, { name: 'Bruna Lima', phone: '+5511970000022' })
    await buildContact(workspace, { name: 'Rua 13', phone: '+5521988887777', externalId: '7000-9' })
  })

  after(() => app.stop())

  const finds: [string, string[]][] = [
    ['jose', ['José Müller']],
    ['JOSÉ', ['José Müller']],
    ['muller', ['José Müller']],
    ['lle', ['José Müller']],
    ['lucja', ['Łucja Żak']],
    ['za', ['Łucja Żak']],
    ['cj', []],
    ['王', ['王小明']],
    ['%', []],
    ['0%_s', ['100%_sure']],
    ['1_0', []],
    ['+34600', ['José Müller']],
    ['jose@ex', ['José Müller']],
    ['example.com', []],
    ['crm-7', ['Łucja Żak']],
    ['\\', []],
    ['5511970000022', ['Bruna Lima']],
    ['(11) 97000-0022', ['Bruna Lima']],
    ['+55 11 97000-0022', ['Bruna Lima']],
    ['+55 (11) 97', ['Bruna Lima']],
    ['0022', ['Bruna Lima']],
    ['011 97000.0022', ['Bruna Lima']],
    ['005511970000022', ['Bruna Lima']],
    ['+11 97000-0022', []],
    ['13', ['Rua 13']],
    ['7000-9', ['Rua 13']],
    ['11 97000 x', []],
    ['(', []],
    ['01578800', ['100%_sure']],
    ['000221', []],
    ['+55 (0)11 97000–0022', ['Bruna Lima']],
    ['\u202a+55 11 97000\u20110022\u202c', ['Bruna Lima']],
    ['(0)11 97000—0022', ['Bruna Lima']],
  ]
  for (const [q, names] of finds) {
    it(`by "${q}" finds ${names.length === 0 ? 'nobody' : names.join()}`, async () => {
      const page = await workspace.call('GET', `/api/contacts?q=${encodeURIComponent(q)}`)
      expect(page.items.map(({ name }: { name: string }) => name)).to.deep.equal(names)
      expect(page.total).to.equal(names.length)
    })
  }
})
