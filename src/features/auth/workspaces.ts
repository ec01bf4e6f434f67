import { Channel } from '../../models/messaging.ts'
import { newId } from '../../platform/ids.ts'
import { OPEN_MEMBERSHIPS } from '../../scope/deleted-workspaces.ts'
import type { SystemScope } from '../../scope/system-scope.ts'
import type { Role } from '../../scope/dependencies.ts'

/** Creates a workspace with its owner and a sandbox channel, so that it can be used at once. */
export async function createWorkspace(
  tx: SystemScope,
  { ownerId, ...settings }: { ownerId: string; name: string; timezone?: string; language?: string; country?: string },
): Promise<string> {
  const workspaceId = newId()
  const now = tx.now()
  await tx.db('workspaces').insert({ id: workspaceId, ...settings, created_at: now, updated_at: now })
  await tx.db('memberships').insert({ workspace_id: workspaceId, user_id: ownerId, role: 'owner', created_at: now })
  await createSandbox(tx, workspaceId)
  return workspaceId
}

async function createSandbox(tx: SystemScope, workspaceId: string): Promise<void> {
  const channelId = newId()
  const now = tx.now()
  await tx.forTenant(workspaceId).query(Channel).insert({
    id: channelId,
    kind: 'sandbox',
    name: 'Sandbox',
    status: 'connected',
    settings: {},
    createdAt: now,
    updatedAt: now,
  })
  await tx.db('channel_routes').insert({ channel_id: channelId, tenant_id: workspaceId })
}

export type Membership = { id: string; name: string; role: Role; createdAt: Date }

/** Lists the workspaces of a user, in the order of joining. */
export function listWorkspaces(system: SystemScope, userId: string): Promise<Membership[]> {
  return system.sql<Membership>('listWorkspaces')`
    select w.id, w.name, m.role, w.created_at from ${OPEN_MEMBERSHIPS}
    where m.user_id = ${userId} order by m.created_at, w.id`
}
