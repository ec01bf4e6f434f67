import { NotFoundError } from '../../../platform/errors.ts'
import { isUuid } from '../../../platform/ids.ts'
import { sqlFragment } from '../../../platform/database/statements/statement.ts'
import type { Scope } from '../../../scope/scope.ts'
import type { Invitation, InvitationRef } from '../schema.ts'

/** All pending invitations, of which there are fewer, and the newest of the others. */
const LISTED_MAX = 200

function invitationSql(now: Date) {
  return sqlFragment`select i.id, i.email, i.role, case when i.status = 'pending' and i.expires_at <= ${now} then 'expired'
      else i.status end as status, jsonb_build_object('userId', i.invited_by, 'name', u.name) as invited_by,
      i.created_at, i.invited_at, i.expires_at
    from invitations i left join users u on u.id = i.invited_by`
}

/** Lists the invitations, first the pending ones and then the others, each newest first. */
export async function listInvitations(scope: Scope): Promise<{ items: Invitation[] }> {
  const now = scope.now()
  const items = await scope.sql<Invitation>('listInvitations')`
    ${invitationSql(now)} where i.workspace_id = ${scope.tenantId}
    order by i.status = 'pending' and i.expires_at > ${now} desc, i.invited_at desc, i.id desc limit ${LISTED_MAX}`
  return { items }
}

/** @throws NotFoundError */
export async function getInvitation(scope: Scope, { invitationId }: InvitationRef): Promise<Invitation> {
  if (!isUuid(invitationId)) throw new NotFoundError('Invitation')
  const [invitation] = await scope.sql<Invitation>('getInvitation')`
    ${invitationSql(scope.now())} where i.workspace_id = ${scope.tenantId} and i.id = ${invitationId}`
  if (!invitation) throw new NotFoundError('Invitation')
  return invitation
}
