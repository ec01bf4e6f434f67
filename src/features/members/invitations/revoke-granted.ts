import { includesRole, type Role, ROLES } from '../../../scope/dependencies.ts'
import type { Scope } from '../../../scope/scope.ts'

/** Revokes the pending invitations of a member for roles that it may not grant with its new role, or without one. */
export async function revokeGranted(tx: Scope, userId: string, newRole: Role | null): Promise<void> {
  const mayGrant = newRole !== null && includesRole(newRole, 'admin')
  const granted = mayGrant ? ROLES.filter((role) => includesRole(newRole, role)) : []
  await tx.sql('revokeGranted')`
    update invitations set status = 'revoked', due_at = null
    where workspace_id = ${tx.tenantId} and invited_by = ${userId} and status = 'pending' and role <> all(${granted})`
}
