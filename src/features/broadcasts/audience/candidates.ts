import type { Broadcast as BroadcastRow } from '../../../models/broadcasts.ts'
import { countryTimezone } from '../../../platform/calendar/country-timezone.ts'
import { addMs, HOUR } from '../../../platform/time.ts'
import type { Scope } from '../../../scope/scope.ts'
import type { Audience } from './schema.ts'
import { loadWorkspaceFacts } from '../../contacts/contact-facts.ts'
import type { Eligibility } from '../../broadcast-recipients/skip-reason.ts'
import {
  joinFragments,
  type SqlFragment,
  sqlFragment,
  sqlText,
} from '../../../platform/database/statements/statement.ts'

export type Candidate = Eligibility & {
  contactId: string
  timezone: string
  /** The values of `{{contact}}` and `{{workspace}}`. */
  facts: { contact: Record<string, unknown>; workspace: Record<string, unknown> }
}

/** Phone number of the contact `c` on the channel, or the ID by which the provider knows it, in the row `i`. */
export const ADDRESS = sqlText('coalesce(i.phone, c.phone, i.user_id)')

/** Reads the row `i` of `ADDRESS` for the contact `c`. */
export function identitiesSql(tenantId: string, channelId: string): SqlFragment {
  return sqlFragment`
    select (array_agg(n.value order by n.created_at) filter (where n.kind = 'phone'))[1] as phone,
      (array_agg(n.value order by n.created_at) filter (where n.kind = 'bsuid'))[1] as user_id
    from contact_identities n
    where n.tenant_id = ${tenantId} and n.contact_id = c.id and n.channel_id = ${channelId}`
}

/** Condition that the contact `c` has been sent as many broadcasts as it may be. */
export function isCappedSql(tx: Scope, { frequencyCap }: Pick<BroadcastRow, 'frequencyCap'>): SqlFragment {
  if (!frequencyCap) return sqlFragment`false`
  const { max, hours } = frequencyCap
  return sqlFragment`(
    select count(*) from (
      select from broadcast_recipients s
      where s.tenant_id = ${tx.tenantId} and s.contact_id = c.id and s.sent_at > ${addMs(tx.now(), -hours * HOUR)}
      limit ${max}) counted) >= ${max}`
}

/**
 * Loads what decides on the contacts of a portion. Excluded contacts and those who are recipients already are left out.
 * In a transaction that inserts recipients, `isLocked` keeps the contacts from being deleted until it ends.
 */
export async function loadCandidates(
  tx: Scope,
  broadcast: Pick<BroadcastRow, 'id' | 'channelId' | 'audience' | 'frequencyCap'>,
  contactIds: string[],
  { isLocked = false } = {},
): Promise<Candidate[]> {
  if (contactIds.length === 0) return []
  const { exclude = {} }: Audience = broadcast.audience
  const workspace = await loadWorkspaceFacts(tx)
  const rows = await tx.sql<Omit<Candidate, 'facts'> & { contact: Candidate['facts']['contact'] }>('loadCandidates')`
    select x.*, x.address is not null and exists (
         select from broadcast_recipients r where r.tenant_id = ${tx.tenantId} and r.broadcast_id = ${broadcast.id}
           and r.address = x.address and r.skip_reason is null) as is_address_taken
     from (
       select c.id as contact_id, ${ADDRESS} as address, coalesce(c.timezone, ${String(workspace['timezone'])}) as timezone, c.blocked,
         c.marketing_consent, c.service_consent, ${isCappedSql(tx, broadcast)} as is_capped,
         json_build_object('id', c.id, 'name', c.name, 'phone', c.phone, 'email', c.email, 'language', c.language,
           'country', c.country, 'timezone', c.timezone, 'fields', c.fields) as contact
       from (select * from contacts where tenant_id = ${tx.tenantId} and id = any(${contactIds}) ${sqlText(isLocked ? 'order by id for key share' : '')}) c
       cross join lateral (${identitiesSql(tx.tenantId, broadcast.channelId)}) i
       where ${joinFragments(toExclusions(tx, broadcast.id, exclude), ' and ')}) x
     order by x.contact_id`
  return rows.map(({ contact, ...row }) => {
    const zone = contact.timezone === null ? countryTimezone(contact.country) : undefined
    return { ...row, timezone: zone ?? row.timezone, facts: { contact, workspace } }
  })
}

/** Conditions of the contact `c`. Those of empty lists are left out, because each reads rows of every contact. */
function toExclusions(
  { tenantId }: Scope,
  broadcastId: string,
  { contactIds = [], groupIds = [], tagIds = [] }: NonNullable<Audience['exclude']>,
): SqlFragment[] {
  return [
    sqlFragment`not exists (select from broadcast_recipients r where r.tenant_id = ${tenantId}
      and r.broadcast_id = ${broadcastId} and r.contact_id = c.id)`,
    contactIds.length > 0 ? sqlFragment`not c.id = any(${contactIds})` : [],
    groupIds.length > 0
      ? sqlFragment`not exists (select from group_contacts g where g.tenant_id = ${tenantId} and g.contact_id = c.id
          and g.group_id = any(${groupIds}))`
      : [],
    tagIds.length > 0
      ? sqlFragment`not exists (select from contact_tags t where t.tenant_id = ${tenantId} and t.contact_id = c.id
          and t.tag_id = any(${tagIds}))`
      : [],
  ].flat()
}
