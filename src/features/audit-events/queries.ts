import { joinFragments, sqlFragment, type SqlFragment } from '../../platform/database/statements/statement.ts'
import { isUuid } from '../../platform/ids.ts'
import type { Scope } from '../../scope/scope.ts'
import { EMPTY_PAGE, type Page } from '../../trpc/schemas.ts'
import type { ItemSource } from '../paging/read-items.ts'
import { NEWEST_FIRST, readPage } from '../paging/read-page.ts'
import type { AuditEvent, AuditEventFilters, ListAuditEvents } from './schema.ts'

type Row = Pick<AuditEvent, 'id' | 'action' | 'outcome' | 'targets' | 'targetCount' | 'fields'> & {
  actorType: AuditEvent['actor']['type']
  actorId: string | null
  actorName: string | null
  address: string | null
  userAgent: string | null
  requestId: string
  createdAt: Date
}

/** Names are read from accounts and keys, so that those of a deleted account are nowhere. */
const SOURCE: ItemSource = {
  table: sqlFragment`audit_events`,
  columns: (tenantId) => sqlFragment`audit_events.id, audit_events.action, audit_events.outcome, audit_events.targets,
    audit_events.target_count, audit_events.fields, audit_events.actor_type, audit_events.actor_id,
    coalesce(
      (select u.name from users u where u.id = audit_events.actor_id),
      (select k.name from api_keys k where k.tenant_id = ${tenantId} and k.id = audit_events.actor_id)) as actor_name,
    audit_events.address, audit_events.user_agent, audit_events.request_id, audit_events.created_at`,
}

/** Events that one statement of an export reads. */
const PORTION = 500

/** Lists audit events, newest first. */
export async function listAuditEvents(
  scope: Scope,
  { limit, offset, cursor, ...filters }: ListAuditEvents,
): Promise<Page<AuditEvent>> {
  if (isImpossible(filters)) return EMPTY_PAGE
  const page = await readPage<Row>(
    scope,
    {
      name: 'listAuditEvents',
      from: sqlFragment`audit_events`,
      id: sqlFragment`t.id`,
      conditions: toConditions(filters),
      order: NEWEST_FIRST,
      item: SOURCE,
    },
    { limit, offset, cursor },
  )
  return { ...page, items: page.items.map(toAuditEvent) }
}

/** Reads all events that match, newest first, portion by portion as they are taken. Later events are not among them. */
export async function* readAuditEvents(scope: Scope, filters: AuditEventFilters): AsyncGenerator<AuditEvent[]> {
  if (isImpossible(filters)) return
  const conditions = toConditions(filters)
  let after: Row | undefined
  for (let count = PORTION; count === PORTION;) {
    const further = after ? [sqlFragment`(t.created_at, t.id) < (${after.createdAt}, ${after.id}::uuid)`] : []
    const isMatch = joinFragments([...conditions, ...further, sqlFragment`true`], ' and ')
    const rows = await scope.sql<Row>('exportAuditEvents')`
      select ${SOURCE.columns(scope.tenantId)} from audit_events
      join (select t.id from audit_events t where t.tenant_id = ${scope.tenantId} and ${isMatch}
        order by t.created_at desc, t.id desc limit ${PORTION}) portion on portion.id = audit_events.id
      where audit_events.tenant_id = ${scope.tenantId}
      order by audit_events.created_at desc, audit_events.id desc`
    count = rows.length
    after = rows.at(-1)
    yield rows.map(toAuditEvent)
  }
}

function toConditions({
  actorId,
  action,
  outcome,
  targetType,
  targetId,
  since,
  until,
}: AuditEventFilters): SqlFragment[] {
  return [
    ...(actorId === undefined ? [] : [sqlFragment`t.actor_id = ${actorId}`]),
    ...(action === undefined ? [] : [sqlFragment`t.action = ${action}`]),
    // Literals, as a plan for all values would not use the index of those that were refused.
    ...(outcome === 'refused' ? [sqlFragment`t.outcome = 'refused'`] : []),
    ...(outcome === 'succeeded' ? [sqlFragment`t.outcome = 'succeeded'`] : []),
    ...(targetId === undefined ? [] : [sqlFragment`t.target_ids @> ${[targetId]}::uuid[]`]),
    ...(targetType === undefined || targetId === undefined
      ? []
      : [sqlFragment`t.targets @> ${JSON.stringify([{ type: targetType, id: targetId.toLowerCase() }])}::jsonb`]),
    ...(since === undefined ? [] : [sqlFragment`t.created_at >= ${since}`]),
    ...(until === undefined ? [] : [sqlFragment`t.created_at < ${until}`]),
  ]
}

function isImpossible({ actorId, targetId }: AuditEventFilters): boolean {
  return [actorId, targetId].some((id) => id !== undefined && !isUuid(id))
}

function toAuditEvent({
  actorType,
  actorId,
  actorName,
  address,
  userAgent,
  requestId,
  createdAt,
  ...row
}: Row): AuditEvent {
  // What a deleted account did it from is not shown, as it would tell of its owner.
  const isErased = actorType === 'user' && actorName === null
  return {
    ...row,
    at: createdAt,
    actor: { type: actorType, id: actorId, name: actorName },
    context: { address: isErased ? null : address, userAgent: isErased ? null : userAgent, requestId },
  }
}
