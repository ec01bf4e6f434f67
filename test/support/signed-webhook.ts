import { createHmac } from 'node:crypto'
import type { ApiResponse } from './app.ts'
import type { WorkspaceClient } from './workspace-client.ts'

/** Calls the webhook of a channel with a valid signature; `appSecret` is by default the one of `buildChannel`. */
export async function postSigned(
  { app }: WorkspaceClient,
  { webhookPath }: { webhookPath: string },
  body: string | Buffer,
  appSecret = 'a'.repeat(32),
): Promise<{ status: number; headers: Headers; text: string }> {
  const signature = createHmac('sha256', appSecret).update(body).digest('hex')
  const response = await fetch(app.url + webhookPath, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-hub-signature-256': `sha256=${signature}` },
    body,
  })
  return { status: response.status, headers: response.headers, text: await response.text() }
}

/** Lists the kept webhook calls of a channel, newest first. */
export async function listWebhooks(
  workspace: WorkspaceClient,
  { id }: { id: string },
  query = '',
): Promise<ApiResponse['body'][]> {
  return (await workspace.call('GET', `/api/channels/${id}/webhooks${query}`)).items
}
