import { expect } from 'chai'
import { Webhook } from 'standardwebhooks'
import { verifyWebhook, WebhookVerificationError, type WebhookHeaders } from '../../packages/client/src/index.ts'

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const OTHER = `whsec_${Buffer.alloc(32, 9).toString('base64')}`
const BODY = JSON.stringify({ type: 'contact.created', id: 'e1', data: { contactId: 'c1' }, note: 'ação' })

/** The headers of a delivery, signed by the reference library. */
function sign({ secret = SECRET, ageSeconds = 0, body = BODY } = {}): Record<string, string> {
  const at = new Date(Date.now() - ageSeconds * 1000)
  const signature = new Webhook(secret).sign('e1', at, body)
  return {
    'webhook-id': 'e1',
    'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
    'webhook-signature': signature,
  }
}

async function findProblem(...call: Parameters<typeof verifyWebhook>): Promise<string> {
  const error = await verifyWebhook(...call).then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  return error instanceof WebhookVerificationError ? error.problem : String(error)
}

describe('verifyWebhook', () => {
  const forms: Record<string, (headers: Record<string, string>) => WebhookHeaders> = {
    'headers of fetch': (headers) => new Headers(headers),
    'headers of Node.js': (headers) => headers,
    'headers in capitals': (headers) =>
      Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toUpperCase(), [value]])),
  }
  for (const [name, toHeaders] of Object.entries(forms)) {
    it(`returns the event that standardwebhooks has signed, from ${name}`, async () => {
      const event = await verifyWebhook(BODY, toHeaders(sign()), SECRET)
      expect(event).to.deep.equal(JSON.parse(BODY))
    })
  }

  it('accepts the body as bytes, and any of several secrets and signatures', async () => {
    const headers = sign({ secret: OTHER })
    headers['webhook-signature'] = `v1a,AAAA v1,AAAA ${headers['webhook-signature']}`
    expect(await verifyWebhook(Buffer.from(BODY), headers, [SECRET, OTHER])).to.have.property('id', 'e1')
  })

  const refused: [problem: string, call: () => Parameters<typeof verifyWebhook>][] = [
    ['wrong_signature', () => [`${BODY} `, sign(), SECRET]],
    ['wrong_signature', () => [BODY, sign(), OTHER]],
    ['wrong_signature', () => [BODY, { ...sign(), 'webhook-id': 'e2' }, SECRET]],
    ['wrong_signature', () => [BODY, sign(), []]],
    ['missing_header', () => [BODY, { ...sign(), 'webhook-signature': '' }, SECRET]],
    ['invalid_timestamp', () => [BODY, { ...sign(), 'webhook-timestamp': '1e9' }, SECRET]],
    ['too_old', () => [BODY, sign({ ageSeconds: 400 }), SECRET]],
    ['too_old', () => [BODY, sign({ ageSeconds: 20 }), SECRET, { toleranceSeconds: 10 }]],
    ['too_new', () => [BODY, sign({ ageSeconds: -400 }), SECRET]],
    ['invalid_secret', () => [BODY, sign(), 'whsec_']],
    ['invalid_secret', () => [BODY, sign(), SECRET.slice('whsec_'.length)]],
    ['invalid_body', () => ['no JSON', sign({ body: 'no JSON' }), SECRET]],
  ]
  for (const [index, [problem, call]] of refused.entries()) {
    it(`rejects call ${index + 1} with ${problem}`, async () => {
      expect(await findProblem(...call())).to.equal(problem)
    })
  }
})
