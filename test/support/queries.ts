import type { ApiResponse } from './app.ts'
import type { WorkspaceClient } from './workspace-client.ts'

/** Condition on rows of `runs` of the workspace $1: those of a deleted contact are shown nowhere until they are purged. */
export const IS_SHOWN_RUN = '(contact_id in (select contact_id from contact_purges where tenant_id = $1)) is not true'

/** Messages of a conversation, oldest first. */
export async function listMessages(workspace: WorkspaceClient, conversationId: string): Promise<ApiResponse['body'][]> {
  return (await workspace.call('GET', `/api/conversations/${conversationId}/messages`)).messages
}

/** Bodies of the messages in a conversation, oldest first. */
export async function listMessageBodies(workspace: WorkspaceClient, conversationId: string): Promise<string[]> {
  return (await listMessages(workspace, conversationId)).map(({ body }) => body)
}

/** Bodies of the messages that workflows and members sent in a conversation, oldest first. */
export async function listSentBodies(workspace: WorkspaceClient, conversationId: string): Promise<string[]> {
  const messages = await listMessages(workspace, conversationId)
  return messages.filter(({ direction }) => direction === 'outbound').map(({ body }) => body)
}

/** Runs that match a query string such as `workflowId=…&status=waiting`, newest first. */
export async function listRuns(workspace: WorkspaceClient, query = ''): Promise<ApiResponse['body'][]> {
  return (await workspace.call('GET', `/api/runs?limit=100&${query}`)).items
}

export async function getRun(workspace: WorkspaceClient, runId: string): Promise<ApiResponse['body']> {
  return workspace.call('GET', `/api/runs/${runId}`)
}

export async function listRunSteps(workspace: WorkspaceClient, runId: string): Promise<ApiResponse['body'][]> {
  return (await workspace.call('GET', `/api/runs/${runId}/steps`)).steps
}
