import type { WorkspaceClient } from './workspace-client.ts'

/**
 * Publishes version 2 of a workflow directly in the database: a copy of version 1 whose compiled form `sql` changes, an
 * expression on the column `compiled`.
 */
export async function storeVersion({ app, tenantId }: WorkspaceClient, workflowId: string, sql: string): Promise<void> {
  await app.system.db.raw(
    `insert into workflow_versions
     select tenant_id, workflow_id, 2, hash, definition, ${sql}, note, published_by, published_at
     from workflow_versions where tenant_id = ? and workflow_id = ?`,
    [tenantId, workflowId],
  )
  await app.system.db('workflows').where({ tenant_id: tenantId, id: workflowId }).update({ version: 2 })
}
