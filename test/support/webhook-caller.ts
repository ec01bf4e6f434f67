import { createHmac } from 'node:crypto'

import { SECOND } from '../../src/platform/time.ts'
import { buildWorkflow } from '../factories.ts'
import type { Answer, TestApp, TestSession } from './app.ts'
import { listRuns } from './queries.ts'
import { WorkspaceClient } from './workspace-client.ts'

export type CalledWebhook = { workflowId: string; path: string; secret: string }

/** Publishes workflows with a webhook and calls the webhooks as external systems do. */
export class WebhookCaller {
  readonly #app: TestApp
  readonly #owner: WorkspaceClient

  constructor(app: TestApp, session: TestSession) {
    this.#app = app
    this.#owner = new WorkspaceClient(app, session)
  }

  async publish(trigger: object = {}, rest: object = {}): Promise<string> {
    const definition = {
      triggers: [{ type: 'webhook', ...trigger }],
      variables: { order: { type: 'string' } },
      steps: [{ id: 'keep', type: 'set', values: { 'vars.order': '{{input.order}}' } }],
      ...rest,
    }
    return (await buildWorkflow(this.#owner, definition, { name: 'Orders' })).id
  }

  async rotate(workflowId: string): Promise<CalledWebhook> {
    const { webhookPath, secret } = await this.#owner.call('POST', `/api/workflows/${workflowId}/webhook/rotate-secret`)
    return { workflowId, path: webhookPath, secret }
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
    return listRuns(this.#owner, `workflowId=${workflowId}`)
  }
}
