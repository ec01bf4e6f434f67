import type { Scope } from '../../scope/scope.ts'

/** Returns the time zone of a workflow without a contact: the one it sets, or that of the workspace. */
export async function workflowTimezone(scope: Scope, setting: string | null): Promise<string> {
  if (setting && setting !== 'contact') return setting
  const [workspace] = await scope.sql<{ timezone: string }>('findTimezone')`
    select timezone from workspaces where id = ${scope.tenantId}`
  return workspace?.timezone ?? 'UTC'
}

/**
 * Keeps the time zone of the workspace until the transaction ends, so that it does not change between its schedules. A
 * shared lock would be a deadlock on a distributed database if two workflows are published at once.
 */
export async function holdTimezone(tx: Scope): Promise<void> {
  await tx.sql('holdTimezone')`select from workspaces where id = ${tx.tenantId} for no key update`
}
