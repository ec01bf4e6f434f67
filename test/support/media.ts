import { newAddress } from './app.ts'
import type { WorkspaceClient } from './workspace-client.ts'

/** Uploads a small text file; returns its ID. */
export async function uploadText({ app, cookie, tenantId }: WorkspaceClient, content = 'text'): Promise<string> {
  const response = await fetch(`${app.url}/api/media`, {
    method: 'POST',
    headers: { 'x-forwarded-for': newAddress(), cookie, 'x-tenant-id': tenantId },
    body: content,
  })
  const { id } = JSON.parse(await response.text())
  return id
}
