import { createHmac } from 'node:crypto'

import { SECOND } from '../../src/platform/time.ts'
import { buildWorkflow } from '../factories.ts'
import type { ApiResponse, TestApp, TestSession } from './app.ts'
import { listRuns } from './queries.ts'
import { WorkspaceClient } from './workspace-client.ts'

export type WebhookWithSecret = { workflowId: string; path: string; secret: string }

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

  async rotateSecret(workflowId: string): Promise<WebhookWithSecret> {
    const { webhookPath, secret } = await this.#owner.call('POST', `/api/workflows/${workflowId}/webhook/rotate-secret`)
    return { workflowId, path: webhookPath, secret }
  }

  async publishWithSecret(trigger: object = {}, rest: object = {}): Promise<WebhookWithSecret> {
    return this.rotateSecret(await this.publish(trigger, rest))
  }

  sign(secret: string, body: string, at = this.#app.clock.now()): string {
    const t = Math.floor(at.getTime() / SECOND)
    return `t=${t},v1=${createHmac('sha256', secret).update(`${t}.${body}`).digest('hex')}`
  }

  call(path: string, body: string, headers: Record<string, string>): Promise<ApiResponse> {
    return this.#app.rest('POST', path, { body, headers })
  }

  callSigned({ path, secret }: WebhookWithSecret, payload: unknown): Promise<ApiResponse> {
    const body = JSON.stringify(payload)
    return this.call(path, body, { 'x-parley-signature': this.sign(secret, body) })
  }

  async listRuns({ workflowId }: WebhookWithSecret): Promise<{ id: string; contactId: string | null }[]> {
    await this.#app.work()
    return listRuns(this.#owner, `workflowId=${workflowId}`)
  }
}
