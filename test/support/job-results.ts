import type { ApiResponse } from './app.ts'
import type { WorkspaceClient } from './workspace-client.ts'

/** Reads an answer of many lines, such as the rows of a job that failed. */
export async function fetchText({ app, cookie, tenantId }: WorkspaceClient, path: string): Promise<string> {
  return (await fetch(`${app.url}${path}`, { headers: { cookie, 'x-tenant-id': tenantId } })).text()
}

/** Reads the results of the lines of a job. */
export async function readResults(
  workspace: WorkspaceClient,
  { resultUrl }: { resultUrl: string },
): Promise<ApiResponse['body'][]> {
  const text = await fetchText(workspace, resultUrl)
  return text.split('\n').flatMap((line): unknown => (line === '' ? [] : [JSON.parse(line)]))
}
