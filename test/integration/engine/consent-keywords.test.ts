import { expect } from 'chai'
import { receiveMessages } from '../../../src/features/inbound/receive-messages.ts'
import { DAY } from '../../../src/platform/time.ts'
import { buildContact, buildMember, buildWorkflow, buildWorkspace, newPhone, sendAsCustomer } from '../../factories.ts'
import { type ApiResponse, startTestApp, type TestApp } from '../../support/app.ts'
import { ask, say } from '../../support/steps.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const OPTED_OUT = 'You will not receive any more promotional messages from us.'

/** Workflows that welcome new customers and answer every message, also before waiting runs. */
const WELCOMES = [
  { triggers: [{ type: 'contact_created' }], steps: [say('welcome', 'Welcome')] },
  { triggers: [{ type: 'conversation_opened' }], steps: [say('opened', 'Opened')] },
  {
    triggers: [{ type: 'message_received', match: { mode: 'any' }, priority: 5 }],
    steps: [say('first', 'Prioritized')],
  },
]

describe('consent keywords', () => {
  let app: TestApp
  let owner: WorkspaceClient

  before(async () => {
    app = await startTestApp()
  })

  beforeEach(async () => {
    owner = await buildWorkspace(app)
  })

  after(() => app.stop())

  type Thread = { contactId: string; messages: ApiResponse['body'][]; consent: ApiResponse['body'] }

  /** Sends texts of a customer one after the other, and reads the conversation and the consent afterwards. */
  async function write(texts: string[], sender: { phone?: string; contactId?: string } = {}): Promise<Thread> {
    const from = sender.contactId === undefined ? { phone: newPhone(), ...sender } : sender
    let message: ApiResponse['body']
    for (const body of texts) {
      message = await sendAsCustomer(owner, { ...from, body })
      await app.work()
    }
    const { messages } = await owner.call('GET', `/api/conversations/${message.conversationId}/messages`)
    const consent = await owner.call('GET', `/api/contacts/${message.contactId}/consent`)
    return { contactId: message.contactId, messages, consent }
  }

  const listReplies = ({ messages }: Thread) =>
    messages.filter(({ direction }) => direction === 'outbound').map(({ body }) => body)

  it('a new customer whose first word is "stop" gets one confirmation, no welcome, and one entry of the ledger', async () => {
    for (const definition of WELCOMES) await buildWorkflow(owner, definition)
    const thread = await write(['stop'])
    expect(listReplies(thread)).to.deep.equal([OPTED_OUT])
    expect(thread.messages[0]).to.include({ direction: 'inbound', body: 'stop' })
    const { marketing, items } = thread.consent
    expect(marketing).to.equal('opted_out')
    expect(items).to.have.length(1)
    expect(items[0]).to.deep.include({ source: 'keyword', keyword: 'stop', messageId: thread.messages[0].id })
    expect(items[0].actor).to.deep.equal({ type: 'contact', id: thread.contactId, name: null })
    expect((await owner.call('GET', '/api/runs')).total).to.equal(0)
  })

  it('a second "stop" writes no entry and is not confirmed again', async () => {
    await buildWorkflow(owner, WELCOMES[2] ?? {})
    const thread = await write(['stop', ' STOP! '])
    expect(listReplies(thread)).to.deep.equal([OPTED_OUT])
    expect(thread.consent.total).to.equal(1)
    expect((await owner.call('GET', '/api/runs')).total).to.equal(0)
  })

  it('"start" opts in again with one confirmation, and opting out and in repeatedly is recorded each time', async () => {
    const thread = await write(['stop', 'Start', 'stop', 'start'])
    expect(thread.consent.items.map(({ state }: { state: string }) => state)).to.deep.equal([
      'opted_in',
      'opted_out',
      'opted_in',
      'opted_out',
    ])
    expect(listReplies(thread)).to.have.length(4)
  })

  it('a keyword is not taken as the answer to a question, and the question stays open', async () => {
    await buildWorkflow(owner, { steps: [ask('name'), say('hello', 'Hello {{message.body}}')] })
    const phone = newPhone()
    expect(listReplies(await write(['hi', 'stop'], { phone }))).to.deep.equal(['name?', OPTED_OUT])
    expect(listReplies(await write(['Ana'], { phone }))).to.deep.equal(['name?', OPTED_OUT, 'Hello Ana'])
  })

  it('keywords of six languages are recognized without accents, case and punctuation, as whole messages only', async () => {
    for (const word of ['PARAR', 'Sair.', '¡Baja!', 'arreter', 'Désabonner', 'ABMELDEN', 'disiscrivimi', 'Opt-Out']) {
      expect((await write([word])).consent.marketing, word).to.equal('opted_out')
    }
    for (const text of ['please stop', 'stop it', 'bus stop', 'nonstop', '', '!!!', 'cancel']) {
      if (text !== '') expect((await write([text])).consent.marketing, text).to.equal('unknown')
    }
  })

  it('the confirmation is in the language of the contact, else in that of the keyword', async () => {
    const { id: contactId } = await buildContact(owner, { language: 'de-AT' })
    expect(listReplies(await write(['stop'], { contactId }))[0]).to.match(/keine Werbenachrichten/)
    expect(listReplies(await write(['descadastrar']))[0]).to.match(/promocionais/)
  })

  it('the explanation of the message and the trigger evaluations name the keyword', async () => {
    const workflow = await buildWorkflow(owner, WELCOMES[2] ?? {})
    const { messages, contactId } = await write(['stop', 'stop'])
    const explain = async (id: string) => (await owner.call('GET', `/api/messages/${id}/explanation`)).summary
    expect(await explain(messages[0].id)).to.match(/Changed the marketing consent .* by a keyword/)
    expect(await explain(messages[2].id)).to.match(/consent keyword, and the contact had this consent already/)
    const { evaluations } = await owner.call(
      'GET',
      `/api/contacts/${contactId}/trigger-evaluations?workflowId=${workflow.id}`,
    )
    expect(evaluations[0]).to.include({ outcome: 'consent_keyword', detail: 'stop' })
    expect(evaluations[0].message).to.match(/consent keyword "stop"/)
  })

  it('a blocked contact opts out without a confirmation', async () => {
    const { id: contactId } = await buildContact(owner)
    await owner.call('PATCH', `/api/contacts/${contactId}`, { blocked: true })
    const thread = await write(['stop'], { contactId })
    expect(listReplies(thread)).to.deep.equal([])
    expect(thread.consent.marketing).to.equal('opted_out')
  })

  it('a simulation handles keywords like a live conversation', async () => {
    const workflow = await buildWorkflow(owner, WELCOMES[2] ?? {})
    const dialogue = ['stop', 'stop', 'hi'].map((body) => ({ type: 'message', body }))
    const { transcript, runs } = await owner.call('POST', `/api/workflows/${workflow.id}/simulate`, { dialogue })
    expect(transcript.map(({ from, body }: { from: string; body: string }) => `${from}: ${body}`)).to.deep.equal([
      'customer: stop',
      `system: ${OPTED_OUT}`,
      'customer: stop',
      'customer: hi',
      'workflow: Prioritized',
    ])
    expect(runs).to.have.length(1)
  })

  it('PUT /api/workspace/consent-keywords adds and removes words and replaces the confirmation', async () => {
    const settings = await owner.call('PUT', '/api/workspace/consent-keywords', {
      optOut: { added: ['Adiós'], removed: ['stop'], confirmation: 'Bye' },
    })
    expect(settings.optOut).to.deep.include({ added: ['adios'], removed: ['stop'], confirmation: 'Bye' })
    expect(settings.optOut.words).to.include('adios').and.not.include('stop')
    expect(await owner.call('GET', '/api/workspace/consent-keywords')).to.deep.equal(settings)
    expect(listReplies(await write(['adios']))).to.deep.equal(['Bye'])
    expect((await write(['stop'])).consent.marketing).to.equal('unknown')
    const agent = await buildMember(owner, 'agent')
    expect((await agent.request('PUT', '/api/workspace/consent-keywords', {})).status).to.equal(403)
  })

  it('a word that opts out and in opts out', async () => {
    await owner.call('PUT', '/api/workspace/consent-keywords', { optIn: { added: ['stop', 'yes'] } })
    expect((await write(['yes'])).consent.marketing).to.equal('opted_in')
    expect((await write(['stop'])).consent.marketing).to.equal('opted_out')
  })

  it('a keyword has at most 60 characters, and so has a message that is one', async () => {
    const longest = 'x'.repeat(60)
    await owner.call('PUT', '/api/workspace/consent-keywords', { optOut: { added: [longest] } })
    expect((await write([longest])).consent.marketing).to.equal('opted_out')
    expect((await write([`${longest}!`])).consent.marketing).to.equal('unknown')
  })

  it('a keyword that the provider delivers after the window has closed changes the consent without a confirmation', async () => {
    const { items } = await owner.call('GET', '/api/channels')
    await receiveMessages(app.system.forTenant(owner.tenantId), {
      channelId: items[0].id,
      messages: [
        {
          providerMessageId: 'late',
          from: { phone: '+15550001234', userId: null, profileName: null, username: null },
          type: 'text',
          body: 'stop',
          content: null,
          at: new Date(app.clock.now().getTime() - 2 * DAY),
        },
      ],
    })
    const { items: contacts } = await owner.call('GET', '/api/contacts')
    expect(contacts[0].consent.marketing).to.equal('opted_out')
    expect(await app.system.db('messages').where({ tenant_id: owner.tenantId, direction: 'outbound' })).to.deep.equal(
      [],
    )
  })
})
