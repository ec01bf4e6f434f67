import { ForbiddenError, NotFoundError, UnprocessableError } from '../../platform/errors.ts'
import { isUuid } from '../../platform/ids.ts'
import type { Role } from '../../scope/dependencies.ts'
import type { Scope } from '../../scope/scope.ts'
import type { SystemScope } from '../../scope/system-scope.ts'
import { assertPerson, type Caller, type UserCaller } from '../../trpc/caller.ts'
import type { RequestContext } from '../../trpc/context.ts'
import type { DeletedWorkspaceRef, DeleteWorkspace, WorkspaceDeletion } from './schema.ts'

type Context = { scope: Scope; caller: Caller } & Pick<RequestContext, 'system' | 'requestId' | 'client'>

/**
 * Deletes the workspace for everybody: this transaction ends all access and all work, and a periodic task deletes the rows.
 * A call that waits for another one returns the receipt of that.
 * @throws ForbiddenError for who is no owner any more; UnprocessableError `name_mismatch`
 */
export async function deleteWorkspace(context: Context, { name }: DeleteWorkspace): Promise<WorkspaceDeletion> {
  const { scope, system, caller } = context
  const { user } = assertPerson(caller)
  const revoked = await scope.transaction(async (tx) => {
    const existing = await lockWorkspace(tx, user.id)
    if (existing.role !== 'owner') throw new ForbiddenError()
    if (existing.name !== name) throw mismatchError()
    if (existing.deletedAt) {
      tx.audit?.drop()
      return []
    }
    tx.audit?.addTargets('workspace', [tx.tenantId])
    await tx.sql('markWorkspaceDeleted')`
      update workspaces set deleted_at = ${tx.now()}, updated_at = ${tx.now()} where id = ${tx.tenantId}`
    await tx.sql('insertDeletedWorkspace')`insert into deleted_workspaces (tenant_id) values (${tx.tenantId})`
    await insertReceipt(tx, { name, userId: user.id }, context)
    return closeDoors(tx)
  })
  system.notifications.publish('deletions', scope.tenantId)
  for (const id of revoked) system.notifications.publish('revocations', id)
  return getDeletion({ system, caller: { user } }, { workspaceId: scope.tenantId })
}

function mismatchError(): UnprocessableError {
  return new UnprocessableError(
    'name_mismatch',
    'This is not the name of the workspace. Send its exact name to confirm that everything in it is to be deleted',
  )
}

type Locked = { name: string; deletedAt: Date | null; role: Role | null }

async function lockWorkspace(tx: Scope, userId: string): Promise<Locked> {
  const [locked] = await tx.sql<Omit<Locked, 'role'>>('lockWorkspaceToDelete')`
    select name, deleted_at from workspaces where id = ${tx.tenantId} for no key update`
  const [member] = await tx.sql<Pick<Locked, 'role'>>('readRoleToDelete')`
    select role from memberships where workspace_id = ${tx.tenantId} and user_id = ${userId}`
  if (!locked) throw new ForbiddenError()
  return { ...locked, role: member?.role ?? null }
}

async function insertReceipt(
  tx: Scope,
  { name, userId }: { name: string; userId: string },
  { requestId, client }: Pick<Context, 'requestId' | 'client'>,
): Promise<void> {
  const owners = await tx.sql<{ userId: string }>('listOwners')`
    select user_id from memberships where workspace_id = ${tx.tenantId} and role = 'owner' order by user_id`
  await tx.sql('insertWorkspaceDeletion')`
    insert into workspace_deletions (workspace_id, name, owner_ids, deleted_by, address, user_agent, request_id, deleted_at)
    values (${tx.tenantId}, ${name}, ${owners.map((owner) => owner.userId)}::uuid[], ${userId}, ${client.ipAddress},
      ${client.userAgent}, ${requestId}, ${tx.now()})`
}

/** Removes what leads into the workspace from outside. Returns the IDs of the members and keys that lose their access. */
async function closeDoors(tx: Scope): Promise<string[]> {
  const { tenantId } = tx
  await tx.sql('deleteInvitations')`delete from invitations where workspace_id = ${tenantId}`
  await tx.sql('deleteChannelRoutes')`delete from channel_routes where tenant_id = ${tenantId}`
  await tx.sql('deleteWebhookRoutes')`delete from workflow_webhook_routes where tenant_id = ${tenantId}`
  const keys = await tx.sql<{ id: string }>('deleteKeyRoutes')`
    delete from api_key_routes where tenant_id = ${tenantId} returning api_key_id as id`
  const members = await tx.sql<{ id: string }>('listMembersToRevoke')`
    select user_id as id from memberships where workspace_id = ${tenantId}`
  return [...members, ...keys].map(({ id }) => id)
}

type Row = Omit<WorkspaceDeletion, 'status' | 'rows'> & { counts: Record<string, number> }

/** Returns the receipt to those who owned the workspace. @throws NotFoundError */
export async function getDeletion(
  { system, caller }: { system: SystemScope; caller: Pick<UserCaller, 'user'> },
  { workspaceId }: DeletedWorkspaceRef,
): Promise<WorkspaceDeletion> {
  if (!isUuid(workspaceId)) throw new NotFoundError('WorkspaceDeletion')
  const [row] = await system.sql<Row>('getWorkspaceDeletion')`
    select workspace_id, name, deleted_by, counts, files, deleted_at, started_at, finished_at from workspace_deletions
    where workspace_id = ${workspaceId} and ${caller.user.id}::uuid = any(owner_ids)`
  if (!row) throw new NotFoundError('WorkspaceDeletion')
  const { counts, ...deletion } = row
  return { ...deletion, status: row.finishedAt ? 'deleted' : 'deleting', rows: counts }
}
