import type { Scope } from '../../scope/scope.ts'
import { PutRetention, type Retention } from './schema.ts'

/** Loads the retention of the workspace. */
export async function getRetention(scope: Scope): Promise<Retention> {
  const [row] = await scope.sql<{ retention: unknown }>('getRetention')`
    select retention from workspaces where id = ${scope.tenantId}`
  return PutRetention.parse(row?.retention ?? {})
}

/** Replaces the retention of the workspace. Rows that are older are deleted by the next run of the task. */
export async function putRetention(scope: Scope, input: PutRetention): Promise<Retention> {
  await scope.transaction(async (tx) => {
    tx.audit?.compareWith(await getRetention(tx))
    await tx.sql('putRetention')`
      update workspaces set retention = ${JSON.stringify(input)}::jsonb, updated_at = ${tx.now()} where id = ${tx.tenantId}`
    await tx.record({ type: 'workspace.retention_changed', data: { workspaceId: tx.tenantId } })
  })
  return input
}
