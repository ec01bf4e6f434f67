import type { Scope } from '../../scope/scope.ts'

/** Returns the time zone of a workflow without a contact: the one it sets, or that of the workspace. */
export async function workflowTimezone(scope: Scope, setting: string | null): Promise<string> {
  if (setting && setting !== 'contact') return setting
  const [workspace] = await scope.sql<{ timezone: string }>('findTimezone')`
    select timezone from workspaces where id = ${scope.tenantId}`
  return workspace?.timezone ?? 'UTC'
}
