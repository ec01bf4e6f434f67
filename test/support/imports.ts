import { expect } from 'chai'
import { type ApiResponse, newAddress } from './app.ts'
import type { WorkspaceClient } from './workspace-client.ts'

/** Sends a file to import, as `curl --data-binary @file.csv` does. */
export async function importCsv(
  { app, cookie, tenantId }: WorkspaceClient,
  content: string | Buffer,
  query: Record<string, string> = {},
): Promise<Pick<ApiResponse, 'status' | 'body'>> {
  const response = await fetch(`${app.url}/api/contacts/import?${new URLSearchParams(query).toString()}`, {
    method: 'POST',
    headers: { 'x-forwarded-for': newAddress(), cookie, 'x-tenant-id': tenantId, 'content-type': 'text/csv' },
    body: typeof content === 'string' ? content : new Uint8Array(content),
  })
  return { status: response.status, body: JSON.parse(await response.text()) }
}

/** Imports a file and returns the job once it has ended. */
export async function runImport(
  workspace: WorkspaceClient,
  content: string | Buffer,
  query: Record<string, string> = {},
): Promise<ApiResponse['body']> {
  const { status, body } = await importCsv(workspace, content, query)
  expect(status, JSON.stringify(body)).to.equal(202)
  await workspace.app.work()
  return workspace.call('GET', `/api/jobs/${body.id}`)
}

/** Builds a file with a contact in each row. */
export function buildCsv(count: number, { from = 0 } = {}): string {
  const rows = Array.from(
    { length: count },
    (_, index) => `Contact ${from + index},+49151${String(from + index).padStart(8, '0')}\n`,
  )
  return `name,phone\n${rows.join('')}`
}
