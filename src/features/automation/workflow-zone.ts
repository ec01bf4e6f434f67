import type { Scope } from '../../scope/scope.ts'

/** Returns the time zone of a workflow without a contact: the one it sets, or that of the workspace. */
export async function workflowTimezone(scope: Scope, setting: string | null): Promise<string> {
  if (setting && setting !== 'contact') return setting
  const workspace = await scope
    .db('workspaces')
    .where('id', scope.tenantId)
    .first<{ timezone: string } | undefined>('timezone')
  return workspace?.timezone ?? 'UTC'
}
