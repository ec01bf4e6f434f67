import type { Role, SystemScope } from '../../scope.ts'

export type Membership = { id: string; name: string; role: Role }

/** Lists the workspaces of a user, in the order of joining. */
export async function listWorkspaces(system: SystemScope, userId: string): Promise<Membership[]> {
  return system
    .db('memberships')
    .join('workspaces', 'workspaces.id', 'memberships.workspace_id')
    .where('memberships.user_id', userId)
    .orderBy(['memberships.created_at', 'workspaces.id'])
    .select<Membership[]>('workspaces.id', 'workspaces.name', 'memberships.role')
}
