import { expect } from 'chai'
import { openChannel } from '../../../src/channels/index.ts'
import type { TemplateProvider } from '../../../src/channels/channel.ts'
import { json, neverReply, ScriptedServer } from '../../support/scripted-server.ts'

const CREDENTIALS = { accessToken: 'EAAtoken', appSecret: 'app-secret', verifyToken: 'verify-token' }
const TEMPLATE = {
  name: 'sale',
  language: 'en',
  category: 'marketing' as const,
  parameterFormat: null,
  components: [{ type: 'BODY', text: 'Hi' }],
}

describe('templates of the Cloud API', () => {
  let server: ScriptedServer

  beforeEach(async () => {
    server = await ScriptedServer.start()
  })

  afterEach(() => server.stop())

  function open(timeoutMs?: number): TemplateProvider {
    const settings = { phoneNumberId: '1', wabaId: '2', baseUrl: server.url }
    const { templates } = openChannel('whatsapp', settings, CREDENTIALS, {
      allowsLoopback: true,
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
    })
    if (!templates) throw new Error('The channel has no templates')
    return templates
  }

  async function findError(work: Promise<unknown>): Promise<unknown> {
    return work.then(
      () => undefined,
      (error: unknown) => error,
    )
  }

  it('a call that is not answered ends at its deadline with provider_error', async () => {
    server.replyWith(neverReply)
    const error = await findError(open(100).create(TEMPLATE))
    expect(error).to.deep.include({ code: 'provider_error' })
    expect(error).to.have.property('message').that.includes('did not answer in time')
  })

  it('the error of the provider is passed on without the request', async () => {
    server.replyWith(
      json(
        { error: { code: 100, error_subcode: 2388043, message: 'Invalid parameter', error_user_msg: 'Too short' } },
        400,
      ),
    )
    const error = await findError(open().create(TEMPLATE))
    expect(error).to.deep.include({
      message: 'WhatsApp did not accept the request: Too short',
      details: { providerCode: 100, providerSubcode: 2388043 },
    })
  })

  it('a response that is not the Cloud API is an error, not a created template', async () => {
    server.replyWith(json({ ok: true }))
    expect(await findError(open().create(TEMPLATE))).to.deep.include({ code: 'provider_error' })
  })

  it('a response of more than 4 MB is an error', async () => {
    server.replyWith((_call, response) => {
      response.writeHead(200).end(`{"data":["${'x'.repeat(4 * 1024 * 1024)}"]}`)
    })
    expect(await findError(open().listPage(null))).to.deep.include({ code: 'provider_error' })
  })

  it('a list counts what it cannot read and continues at the cursor of the provider', async () => {
    const listed = { id: 7, name: 'sale', language: 'en', category: 'MARKETING', status: 'APPROVED', components: [] }
    const page = {
      data: [
        { ...listed, quality_score: { score: 'GREEN' }, rejected_reason: 'NONE' },
        { ...listed, status: 'IMAGINARY' },
        { ...listed, components: [{ type: 'BODY', text: 'x'.repeat(70_000) }] },
        null,
      ],
      paging: { cursors: { after: 'c1' }, next: 'https://elsewhere.example/next' },
    }
    server.replyWith(json(page))
    expect(await open().listPage('c0')).to.deep.equal({
      templates: [
        {
          providerTemplateId: '7',
          name: 'sale',
          language: 'en',
          category: 'marketing',
          status: 'approved',
          components: [],
          quality: 'green',
          rejectionReason: null,
        },
      ],
      skipped: 3,
      next: 'c1',
    })
    expect(server.calls[0]?.url).to.include('/v24.0/2/message_templates?').and.include('after=c0')
  })
})
