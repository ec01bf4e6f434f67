import type { Scope } from '../../scope.ts'

/** Whose clocks a workflow reads while there is no contact: its own, or the workspace's. */
export async function workflowTimezone(scope: Scope, setting: string | null): Promise<string> {
  if (setting && setting !== 'contact') return setting
  const workspace = await scope
    .db('workspaces')
    .where('id', scope.tenantId)
    .first<{ timezone: string } | undefined>('timezone')
  return workspace?.timezone ?? 'UTC'
}
