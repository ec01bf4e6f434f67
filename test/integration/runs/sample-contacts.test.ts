import { expect } from 'chai'
import { buildChannel, buildContact, buildWorkflow, buildWorkspace } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { say } from '../../support/steps.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const FACTS = '{{contact.country}} {{contact.language}} {{contact.phone}}'
const ASKING = {
  steps: [
    {
      id: 'day',
      type: 'ask',
      message: { body: 'Which day?' },
      expect: { type: 'date' },
      saveAs: 'vars.day',
    },
    say('repeat', '{{vars.day}}'),
  ],
}

describe('the sample contact of a simulation', () => {
  let app: TestApp
  let workspace: WorkspaceClient

  before(async () => {
    app = await startTestApp()
  })

  beforeEach(async () => {
    workspace = await buildWorkspace(app)
  })

  after(() => app.stop())

  const setTimezone = (timezone: string) =>
    app.system.db('workspaces').where('id', workspace.tenantId).update({ timezone })

  async function simulate(definition: object, bodies: string[], request: object = {}): Promise<string[]> {
    const { id } = await buildWorkflow(workspace, definition, { publish: false })
    const dialogue = bodies.map((body) => ({ type: 'message', body }))
    const result = await workspace.call('POST', `/api/workflows/${id}/simulate`, { dialogue, ...request })
    return result.transcript.flatMap((entry: { from: string; body: string }) =>
      entry.from === 'workflow' ? [entry.body] : [],
    )
  }

  const simulateFacts = async (request: object = {}) =>
    (await simulate({ steps: [say('facts', FACTS)] }, ['hi'], request)).join()

  it('writes dates as contacts do in the country of the time zone of the workspace', async () => {
    expect(await simulate(ASKING, ['hi', '11/25/2026'])).to.deep.equal(['Which day?', '2026-11-25'])
    await setTimezone('America/Sao_Paulo')
    expect(await simulate(ASKING, ['hi', '25/11/2026'])).to.deep.equal(['Which day?', '2026-11-25'])
  })

  for (const [timezone, facts] of [
    ['America/Sao_Paulo', 'BR pt +5511961234567'],
    ['Asia/Kolkata', 'IN hi +918123456789'],
    ['America/Argentina/Buenos_Aires', 'AR es +5491123456789'],
    ['America/New_York', 'US en +12025550143'],
    ['UTC', 'US en +12025550143'],
  ] as const) {
    it(`is ${facts} in a workspace with the zone ${timezone}`, async () => {
      await setTimezone(timezone)
      expect(await simulateFacts()).to.equal(facts)
    })
  }

  it('is from the country of the number of the WhatsApp channel in a workspace with the zone UTC', async () => {
    const { id: channelId } = await buildChannel(workspace, { phoneNumber: '+4915112345678' })
    const { id } = await buildChannel(workspace, { phoneNumber: '+351912345678' })
    expect(await simulateFacts()).to.match(/^DE de \+49/)
    const onChannel = (channel: string) => ({
      triggers: [{ type: 'message_received', channelId: channel }],
      steps: [say('facts', FACTS)],
    })
    expect((await simulate(onChannel(id), ['hi'])).join()).to.match(/^PT pt \+351/)
    expect((await simulate(onChannel(channelId), ['hi'])).join()).to.match(/^DE de \+49/)
  })

  it('is from the country that the request names, or that of its number', async () => {
    await setTimezone('America/Sao_Paulo')
    expect(await simulateFacts({ contact: { country: 'FR' } })).to.match(/^FR fr \+33/)
    expect(await simulateFacts({ contact: { phone: '+4915112345678' } })).to.equal('DE de +4915112345678')
    expect(await simulateFacts({ contact: { country: 'ZZ', language: 'it' } })).to.match(/^ZZ it/)
    expect(await simulateFacts({ contact: { country: 'xx' } })).to.match(/^xx pt/)
  })

  it('does not change the facts of a stored contact', async () => {
    await setTimezone('America/Sao_Paulo')
    const { id, phone } = await buildContact(workspace, { language: 'fr' })
    expect(await simulateFacts({ contactId: id })).to.equal(`DE fr ${phone}`)
  })

  it('is built for a trigger that names a channel by something else than an ID', async () => {
    await buildChannel(workspace, { phoneNumber: '+4915112345678' })
    const triggers = [{ type: 'message_received', channelId: 'main' }]
    expect((await simulate({ triggers, steps: [say('facts', FACTS)] }, ['hi'])).join()).to.match(/^DE de/)
  })
})
