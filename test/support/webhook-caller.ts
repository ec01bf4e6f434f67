import { createHmac } from 'node:crypto'
import { expect } from 'chai'
import { SECOND } from '../../src/platform/time.ts'
import type { Answer, TestApp, TestSession } from './app.ts'

export type CalledWebhook = { workflowId: string; path: string; secret: string }

/** Publishes workflows with a webhook, and calls them as their senders do. */
export class WebhookCaller {
  readonly #app: TestApp
  readonly #session: TestSession

  constructor(app: TestApp, session: TestSession) {
    this.#app = app
    this.#session = session
  }

  async publish(trigger: object = {}, rest: object = {}): Promise<string> {
    const session = this.#session
    const definition = {
      version: 1,
      triggers: [{ type: 'webhook', ...trigger }],
      variables: { order: { type: 'string' } },
      steps: [{ id: 'keep', type: 'set', values: { 'vars.order': '{{input.order}}' } }],
      ...rest,
    }
    const { body } = await this.#app.rest('POST', '/api/workflows', { session, body: { name: 'Orders', definition } })
    const answer = await this.#app.rest('POST', `/api/workflows/${body.id}/publish`, { session, body: {} })
    expect(answer.status, JSON.stringify(answer.body)).to.equal(200)
    return body.id
  }

  async rotate(workflowId: string): Promise<CalledWebhook> {
    const path = `/api/workflows/${workflowId}/webhook/rotate-secret`
    const { status, body } = await this.#app.rest('POST', path, { session: this.#session })
    expect(status).to.equal(200)
    return { workflowId, path: body.webhookPath, secret: body.secret }
  }

  async open(trigger: object = {}, rest: object = {}): Promise<CalledWebhook> {
    return this.rotate(await this.publish(trigger, rest))
  }

  sign(secret: string, body: string, at = this.#app.clock.now()): string {
    const t = Math.floor(at.getTime() / SECOND)
    return `t=${t},v1=${createHmac('sha256', secret).update(`${t}.${body}`).digest('hex')}`
  }

  call(path: string, body: string, headers: Record<string, string>): Promise<Answer> {
    return this.#app.rest('POST', path, { body, headers })
  }

  callSigned({ path, secret }: CalledWebhook, payload: unknown): Promise<Answer> {
    const body = JSON.stringify(payload)
    return this.call(path, body, { 'x-parley-signature': this.sign(secret, body) })
  }

  async runsOf({ workflowId }: CalledWebhook): Promise<{ id: string; contactId: string | null }[]> {
    await this.#app.work()
    const { body } = await this.#app.rest('GET', `/api/runs?workflowId=${workflowId}`, { session: this.#session })
    return body.items
  }
}
