import type { Scope } from '../../scope.ts'

export type Assignment = {
  conversationId: string
  to: { userId: string | null } | { strategy: 'round_robin' | 'least_open' }
}

type Member = { userId: string; isAgent: boolean; lastAssignedAt: Date | null; open: number }

/**
 * Gives conversations to members, in the order given. `round_robin` takes who had the longest rest, `least_open` who has
 * the fewest open conversations; neither takes somebody who may only look. Who is no member gets nothing. The caller
 * holds the conversations' locks.
 */
export async function assignConversations(tx: Scope, assignments: Assignment[]): Promise<void> {
  const last = [...new Map(assignments.map((assignment) => [assignment.conversationId, assignment])).values()]
  if (last.length === 0) return
  const members = await lockMembers(tx)
  if (last.some(({ to }) => 'strategy' in to && to.strategy === 'least_open')) await countOpen(tx, members, last)
  const before = new Map(members.map(({ userId, lastAssignedAt }) => [userId, lastAssignedAt]))
  const given = last.flatMap(({ conversationId, to }) => {
    const assigneeId = assigneeOf(to, members, tx.now())
    if (assigneeId !== undefined) return [{ conversationId, assigneeId }]
    tx.log.warn({ conversationId, to }, 'nobody of the workspace could be assigned')
    return []
  })
  await saveAssignees(tx, given)
  await saveAssignmentTimes(
    tx,
    members.filter(({ userId, lastAssignedAt }) => before.get(userId) !== lastAssignedAt),
  )
}

/** Locks the members, so that of two batches at once the second sees whom the first has picked. */
async function lockMembers(tx: Scope): Promise<Member[]> {
  const { rows } = await tx.db.raw<{ rows: Member[] }>(
    `select m.user_id as "userId", m.role <> 'viewer' as "isAgent", m.last_assigned_at as "lastAssignedAt", 0 as open
     from memberships m where m.workspace_id = ? order by m.user_id for no key update of m`,
    [tx.tenantId],
  )
  return rows
}

/** Whoever has one of these conversations now may lose it, so those do not count. */
async function countOpen(tx: Scope, members: Member[], leaving: Assignment[]): Promise<void> {
  const { rows } = await tx.db.raw<{ rows: { userId: string; open: number }[] }>(
    `select assignee_id as "userId", count(*)::int as open from conversations
     where tenant_id = ? and assignee_id is not null and status <> 'closed' and id <> all(?) group by assignee_id`,
    [tx.tenantId, leaving.map(({ conversationId }) => conversationId)],
  )
  const counts = new Map(rows.map(({ userId, open }) => [userId, open]))
  for (const member of members) member.open = counts.get(member.userId) ?? 0
}

/** Undefined if there is nobody. */
function assigneeOf(to: Assignment['to'], members: Member[], now: Date): string | null | undefined {
  if ('userId' in to) {
    if (to.userId === null) return null
    const member = members.find(({ userId }) => userId === to.userId)
    if (member) member.open += 1
    return member?.userId
  }
  const weigh = (member: Member) => (to.strategy === 'least_open' ? member.open : 0)
  const [next] = members
    .filter(({ isAgent }) => isAgent)
    .sort((a, b) => weigh(a) - weigh(b) || lastAssignedMs(a) - lastAssignedMs(b) || (a.userId < b.userId ? -1 : 1))
  if (!next) return undefined
  // Later than every other assignment, so that those of one moment keep their order.
  next.lastAssignedAt = new Date(Math.max(now.getTime(), ...members.map((member) => lastAssignedMs(member) + 1)))
  next.open += 1
  return next.userId
}

async function saveAssignees(tx: Scope, rows: { conversationId: string; assigneeId: string | null }[]): Promise<void> {
  if (rows.length === 0) return
  const saved = await tx.db.raw<{ rows: { conversationId: string; contactId: string; assigneeId: string | null }[] }>(
    `update conversations cv set assignee_id = x."assigneeId", updated_at = :now
     from jsonb_to_recordset(:given::jsonb) as x ("conversationId" uuid, "assigneeId" uuid)
     where cv.tenant_id = :tenantId and cv.id = x."conversationId" and cv.assignee_id is distinct from x."assigneeId"
     returning cv.id as "conversationId", cv.contact_id as "contactId", cv.assignee_id as "assigneeId"`,
    { given: JSON.stringify(rows), tenantId: tx.tenantId, now: tx.now() },
  )
  await tx.record(...saved.rows.map((data) => ({ type: 'conversation.assigned' as const, data })))
}

function lastAssignedMs({ lastAssignedAt }: Member): number {
  return lastAssignedAt?.getTime() ?? 0
}

async function saveAssignmentTimes(tx: Scope, members: Member[]): Promise<void> {
  if (members.length === 0) return
  await tx.db.raw(
    `update memberships m set last_assigned_at = x."lastAssignedAt"
     from jsonb_to_recordset(:given::jsonb) as x ("userId" uuid, "lastAssignedAt" timestamptz)
     where m.workspace_id = :tenantId and m.user_id = x."userId"`,
    { given: JSON.stringify(members), tenantId: tx.tenantId },
  )
}
