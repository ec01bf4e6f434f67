import { expect } from 'chai'
import { buildWorkflow, buildWorkspace, newPhone, sendAsCustomer } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

describe('the reason of a handoff', () => {
  let app: TestApp
  let workspace: WorkspaceClient
  let phone: string

  before(async () => {
    app = await startTestApp()
  })

  beforeEach(async () => {
    workspace = await buildWorkspace(app)
    phone = newPhone()
  })

  after(() => app.stop())

  async function receive(body: string) {
    const { conversationId } = await sendAsCustomer(workspace, { phone, body })
    await app.work()
    return workspace.call('GET', `/api/conversations/${conversationId}`)
  }

  const update = (id: string, body: object) => workspace.call('PATCH', `/api/conversations/${id}`, body)

  const handOff = (step: object) =>
    buildWorkflow(workspace, {
      triggers: [{ type: 'message_received', match: { mode: 'starts_with', values: ['help'] } }],
      steps: [{ id: 'people', type: 'handoff', ...step }],
    })

  it('is shown with the conversation, alone and in lists, while the handoff lasts', async () => {
    await handOff({ reason: 'Asks about {{message.body}}', resumeAfter: '1h' })
    const { id, automation } = await receive('help with my invoice')
    expect(automation).to.include({
      state: 'paused',
      reason: 'handoff',
      handoffReason: 'Asks about help with my invoice',
    })
    const [listed] = (await workspace.call('GET', '/api/conversations')).items
    expect(listed.automation).to.deep.equal(automation)
    app.clock.advance(3_600_000)
    await app.work()
    expect((await workspace.call('GET', `/api/conversations/${id}`)).automation).to.deep.equal({
      state: 'on',
      reason: null,
      handoffReason: null,
      until: null,
    })
  })

  it('is that of the last handoff, and not shown for a pause of another kind', async () => {
    const { id: first } = await handOff({ reason: 'First' })
    const { id, automation } = await receive('help')
    expect(automation.handoffReason).to.equal('First')
    const paused = await update(id, { automation: { state: 'paused' } })
    expect(paused.automation).to.include({ reason: 'manual', handoffReason: null })
    await update(id, { automation: { state: 'on' } })
    await workspace.call('POST', `/api/workflows/${first}/unpublish`, {})
    await handOff({})
    expect((await receive('help')).automation).to.include({ reason: 'handoff', handoffReason: null })
  })

  it('is kept with its first 1,000 characters, without half of a character', async () => {
    await handOff({ reason: `${'a'.repeat(999)}👍 and more` })
    const { automation } = await receive('help')
    expect(automation.handoffReason).to.equal(`${'a'.repeat(999)}\u{FFFD}`)
  })
})
