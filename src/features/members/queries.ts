import { NotFoundError } from '../../platform/errors.ts'
import { isUuid } from '../../platform/ids.ts'
import { sqlFragment } from '../../platform/database/statements/statement.ts'
import type { Scope } from '../../scope/scope.ts'
import type { Member, MemberRef } from './schema.ts'

const COLUMNS = sqlFragment`m.user_id, u.name, u.email, u.image, m.role, m.created_at as joined_at`

/** Lists all members, in the order of joining. */
export async function listMembers(scope: Scope): Promise<{ items: Member[] }> {
  const items = await scope.sql<Member>('listMembers')`
    select ${COLUMNS} from memberships m join users u on u.id = m.user_id
    where m.workspace_id = ${scope.tenantId} order by m.created_at, m.user_id`
  return { items }
}

/** @throws NotFoundError */
export async function getMember(scope: Scope, { userId }: MemberRef): Promise<Member> {
  if (!isUuid(userId)) throw new NotFoundError('Member')
  const [member] = await scope.sql<Member>('getMember')`
    select ${COLUMNS} from memberships m join users u on u.id = m.user_id
    where m.workspace_id = ${scope.tenantId} and m.user_id = ${userId}`
  if (!member) throw new NotFoundError('Member')
  return member
}
