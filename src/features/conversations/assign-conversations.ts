import { toRecordset } from '../../platform/database/sql.ts'
import type { Scope } from '../../scope/scope.ts'

export type Assignment = {
  conversationId: string
  to: { userId: string | null } | { strategy: 'round_robin' | 'least_open' }
}

type Member = { userId: string; isAgent: boolean; lastAssignedAt: Date | null; openCount: number }
type Assignee = { conversationId: string; assigneeId: string | null }

/**
 * Assigns conversations to members, in order. `round_robin` picks the member whose last assignment is the oldest,
 * `least_open` the one with the fewest open conversations; neither picks a viewer. An assignment for which there is no
 * member is logged and dropped. The caller holds the locks of the conversations.
 */
export async function assignConversations(tx: Scope, assignments: Assignment[]): Promise<void> {
  const last = [...new Map(assignments.map((assignment) => [assignment.conversationId, assignment])).values()]
  if (last.length === 0) return
  const members = await lockMembers(tx)
  if (last.some(({ to }) => 'strategy' in to && to.strategy === 'least_open')) await countOpen(tx, members, last)
  const previous = new Map(members.map(({ userId, lastAssignedAt }) => [userId, lastAssignedAt]))
  const assignees = last.flatMap(({ conversationId, to }): Assignee[] => {
    const assigneeId = pickAssignee(to, members, tx.now())
    if (assigneeId !== undefined) return [{ conversationId, assigneeId }]
    tx.log.warn(
      { event: 'assignment_unmatched', conversationId, to },
      'no member of the workspace matches an assignment',
    )
    return []
  })
  await saveAssignees(tx, assignees)
  await saveAssignmentTimes(
    tx,
    members.filter(({ userId, lastAssignedAt }) => previous.get(userId) !== lastAssignedAt),
  )
}

/** Locks the members, so that the second of two concurrent batches sees the assignments of the first. */
function lockMembers(tx: Scope): Promise<Member[]> {
  return tx.sql<Member>('lockMembers')`
    select m.user_id, m.role <> 'viewer' as is_agent, m.last_assigned_at, 0 as open_count
     from memberships m where m.workspace_id = ${tx.tenantId} order by m.user_id for no key update of m`
}

/** Members with this many open conversations or more are equally busy: an assignment costs the same however many wait. */
const OPEN_MAX = 1000

/** Counts the open conversations of each member, up to `OPEN_MAX`. Those about to be reassigned do not count. */
async function countOpen(tx: Scope, members: Member[], reassigned: Assignment[]): Promise<void> {
  const conversationIds = reassigned.map(({ conversationId }) => conversationId)
  const userIds = members.filter(({ isAgent }) => isAgent).map(({ userId }) => userId)
  const rows = await tx.sql<{ userId: string; openCount: number }>('countOpen')`
    select user_id, (select count(*)::int from (
      select from conversations cv
      where cv.tenant_id = ${tx.tenantId} and cv.assignee_id = user_id and cv.status <> 'closed'
        and cv.id <> all(${conversationIds})
      limit ${OPEN_MAX}) open) as open_count
    from unnest(${userIds}::uuid[]) as user_id`
  const counts = new Map(rows.map(({ userId, openCount }) => [userId, openCount]))
  for (const member of members) member.openCount = counts.get(member.userId) ?? 0
}

/** Picks a member and updates its counters. Returns undefined if no member qualifies, null to unassign. */
function pickAssignee(to: Assignment['to'], members: Member[], now: Date): string | null | undefined {
  if ('userId' in to) {
    if (to.userId === null) return null
    const member = members.find(({ userId }) => userId === to.userId)
    if (member) member.openCount += 1
    return member?.userId
  }
  const weigh = (member: Member) => (to.strategy === 'least_open' ? member.openCount : 0)
  const [next] = members
    .filter(({ isAgent }) => isAgent)
    .sort((a, b) => weigh(a) - weigh(b) || lastAssignedMs(a) - lastAssignedMs(b) || (a.userId < b.userId ? -1 : 1))
  if (!next) return undefined
  // Later than every other assignment, so that those of the same millisecond keep their order.
  next.lastAssignedAt = new Date(Math.max(now.getTime(), ...members.map((member) => lastAssignedMs(member) + 1)))
  next.openCount += 1
  return next.userId
}

function lastAssignedMs({ lastAssignedAt }: Member): number {
  return lastAssignedAt?.getTime() ?? 0
}

async function saveAssignees(tx: Scope, assignees: Assignee[]): Promise<void> {
  if (assignees.length === 0) return
  const changed = await tx.sql<Assignee & { contactId: string }>('saveAssignees')`
    update conversations cv set assignee_id = x.assignee_id, updated_at = ${tx.now()}
     from jsonb_to_recordset(${toRecordset(assignees)}::jsonb) as x (conversation_id uuid, assignee_id uuid)
     where cv.tenant_id = ${tx.tenantId} and cv.id = x.conversation_id and cv.assignee_id is distinct from x.assignee_id
     returning cv.id as conversation_id, cv.contact_id, cv.assignee_id`
  await tx.record(...changed.map((data) => ({ type: 'conversation.assigned' as const, data })))
}

async function saveAssignmentTimes(tx: Scope, members: Member[]): Promise<void> {
  if (members.length === 0) return
  await tx.sql('saveAssignmentTimes')`
    update memberships m set last_assigned_at = x.last_assigned_at
     from jsonb_to_recordset(${toRecordset(members)}::jsonb) as x (user_id uuid, last_assigned_at timestamptz)
     where m.workspace_id = ${tx.tenantId} and m.user_id = x.user_id`
}
