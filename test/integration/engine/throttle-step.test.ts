import { expect } from 'chai'
import { buildWorkflow, buildWorkspace, newPhone, sendAsCustomer } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

describe('throttle step', () => {
  let app: TestApp
  let owner: WorkspaceClient

  before(async () => {
    app = await startTestApp()
  })

  after(() => app.stop())

  beforeEach(async () => {
    owner = await buildWorkspace(app)
  })

  const note = (id: string, next = 'end') => ({ id, type: 'add_note', body: id, next })

  async function write(phone: string): Promise<string> {
    const { conversationId } = await sendAsCustomer(owner, { phone })
    await app.work()
    return conversationId
  }

  async function listNotes(conversationId: string): Promise<string[]> {
    const { messages } = await owner.call('GET', `/api/conversations/${conversationId}/messages`)
    return messages.filter(({ type }: any) => type === 'note').map(({ body }: any) => body)
  }

  it('lets as many runs of a contact continue as it allows, until its time is over', async () => {
    const step = { id: 'limit', type: 'throttle', max: 2, per: '1h', else: 'late', next: 'in_time' }
    await buildWorkflow(owner, { steps: [step, note('in_time'), note('late')] })
    const phone = newPhone()
    for (let count = 0; count < 3; count += 1) await write(phone)
    const conversationId = await write(phone)
    expect(await listNotes(conversationId)).to.deep.equal(['in_time', 'in_time', 'late', 'late'])
    expect(await listNotes(await write(newPhone()))).to.deep.equal(['in_time'])
    app.clock.advance(3_600_000)
    await write(phone)
    expect((await listNotes(conversationId)).at(-1)).to.equal('in_time')
  })

  it('counts runs with the same key together, and ends a run without another path', async () => {
    const step = { id: 'limit', type: 'throttle', key: 'all', max: 1, per: '1h', next: 'in_time' }
    await buildWorkflow(owner, { steps: [step, note('in_time')] })
    const [first, second] = [await write(newPhone()), await write(newPhone())]
    expect(await listNotes(first)).to.deep.equal(['in_time'])
    expect(await listNotes(second)).to.deep.equal([])
    const { items } = await owner.call('GET', '/api/runs')
    expect(items.map(({ status }: any) => status)).to.deep.equal(['completed', 'completed'])
  })
})
