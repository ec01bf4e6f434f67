import { randomBytes } from 'node:crypto'
import { newAddress } from './app.ts'
import type { WorkspaceClient } from './workspace-client.ts'

const PNG_HEAD = Buffer.from(
  '89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0010000049444154',
  'hex',
)

/** A file that is detected as PNG, with content of its own. */
export function buildPng(bytes = 2000): Buffer {
  return Buffer.concat([PNG_HEAD, randomBytes(bytes)])
}

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
