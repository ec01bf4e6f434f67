import type { ConsentEntry as ConsentEntryRow } from '../../models/contacts.ts'
import { toRecordset } from '../../platform/database/sql.ts'
import { newId } from '../../platform/ids.ts'
import { addMs, SECOND } from '../../platform/time.ts'
import type { Event } from '../../scope/event-types.ts'
import type { Scope } from '../../scope/scope.ts'
import { lockContacts } from '../automation/lock-order.ts'
import { emitEvents } from '../automation/emit-events.ts'
import { attributeOptOuts } from '../broadcast-recipients/attribute-responses.ts'

export type ConsentChange = Pick<ConsentEntryRow, 'contactId' | 'purpose' | 'state' | 'source'> &
  Partial<Pick<ConsentEntryRow, 'actor' | 'text' | 'keyword' | 'channelId' | 'messageId'>> & {
    /** Time of the choice, if it was made elsewhere: a choice older than the stored one changes nothing. */
    at?: Date
    /** Number of runs in the cascade that led to the change. */
    depth?: number
    /** True to record the consent as evidence even if it is the current state. */
    isConfirmation?: boolean
  }

type Current = Record<'marketing' | 'service', ConsentEntryRow['state']> & {
  id: string
  marketingAt: Date | null
  serviceAt: Date | null
}

type StoredConsents = {
  /** In their order, the changes to another state than the one before, and the confirmations. */
  recorded: ConsentChange[]
  /** The last change of each contact whose consents differ from those before. */
  changed: ConsentChange[]
}

/** Changes consents of any number of contacts and tells workflows and subscribers. Returns the changes that were recorded. */
export async function changeConsents(tx: Scope, changes: ConsentChange[]): Promise<ConsentChange[]> {
  const { recorded, changed } = await storeConsents(tx, changes)
  await emitEvents(
    tx,
    changed.map(({ contactId, depth = 0 }) => ({
      contactId,
      depth,
      event: { type: 'contact_updated' as const, fields: ['consent'] },
    })),
  )
  return recorded
}

/**
 * Stores consents and their entries of the ledger in one statement, under the locks of the contacts. Every change of
 * consent goes through here. The caller emits `contact_updated`.
 */
export async function storeConsents(tx: Scope, changes: ConsentChange[]): Promise<StoredConsents> {
  if (changes.length === 0) return { recorded: [], changed: [] }
  const current = await lockConsents(tx, changes)
  const previous = new Map([...current].map(([id, states]) => [id, { ...states }]))
  const recorded = changes.filter((change) => {
    const { contactId, purpose, state, isConfirmation } = change
    const states = current.get(contactId)
    if (!states || isOutdated(change, states) || (states[purpose] === state && !isConfirmation)) return false
    states[purpose] = state
    return true
  })
  if (recorded.length > 0) await writeConsents(tx, recorded)
  const last = [...new Map(recorded.map((change) => [change.contactId, change])).values()]
  const changed = last.filter(({ contactId }) => {
    const [before, after] = [previous.get(contactId), current.get(contactId)]
    return before?.marketing !== after?.marketing || before?.service !== after?.service
  })
  const optOuts = changed.filter(
    ({ contactId, actor }) =>
      actor?.type === 'contact' &&
      previous.get(contactId)?.marketing !== 'opted_out' &&
      current.get(contactId)?.marketing === 'opted_out',
  )
  await attributeOptOuts(
    tx,
    optOuts.map(({ contactId }) => contactId),
  )
  await tx.record(
    ...changed.flatMap(({ contactId }): Event[] => {
      // The consent to service messages is no field of a contact.
      const isField = previous.get(contactId)?.marketing !== current.get(contactId)?.marketing
      return [
        { type: 'contact.consent_changed', data: { contactId } },
        ...(isField ? [{ type: 'contact.updated' as const, data: { contactId, changed: ['consent'] } }] : []),
      ]
    }),
  )
  return { recorded, changed }
}

/** Returns true if a newer choice is stored. Times of providers have no milliseconds. */
function isOutdated({ purpose, at }: ConsentChange, current: Current): boolean {
  const stored = purpose === 'marketing' ? current.marketingAt : current.serviceAt
  return at !== undefined && stored !== null && addMs(at, SECOND) <= stored
}

async function lockConsents(tx: Scope, changes: ConsentChange[]): Promise<Map<string, Current>> {
  const contactIds = [...new Set(changes.map(({ contactId }) => contactId))]
  await lockContacts(tx, contactIds)
  const rows = await tx.sql<Current>('loadConsents')`
    select id, marketing_consent as marketing, service_consent as service, consent_at as marketing_at,
      service_consent_at as service_at from contacts
    where tenant_id = ${tx.tenantId} and id = any(${contactIds})`
  return new Map(rows.map((row) => [row.id, row]))
}

/** Processes whose clocks differ may change one contact in turn: an entry is never older than the one before. */
async function writeConsents(tx: Scope, changes: ConsentChange[]): Promise<void> {
  const { type, id, name } = tx.actor
  const rows = changes.map(({ at, ...change }) => ({
    actor: { type, id, name },
    ...change,
    id: newId(),
    chosenAt: at ?? null,
  }))
  const now = tx.now()
  await tx.sql('writeConsents')`
    with input as materialized (
       select x.*, greatest(coalesce(x.chosen_at, ${now}::timestamptz), case x.purpose when 'marketing' then c.consent_at else c.service_consent_at end) as at
       from jsonb_to_recordset(${toRecordset(rows)}::jsonb) as x (id uuid, contact_id uuid, purpose text, state text, source text,
         actor jsonb, text text, keyword text, channel_id uuid, message_id uuid,
         chosen_at timestamptz)
       join contacts c on c.tenant_id = ${tx.tenantId} and c.id = x.contact_id),
     entries as (
       insert into consent_entries (tenant_id, id, contact_id, purpose, state, source, actor, text, keyword, channel_id,
         message_id, created_at)
       select ${tx.tenantId}::uuid, id, contact_id, purpose, state, source, actor, text, keyword, channel_id, message_id, at
       from input),
     newest as (
       select contact_id, (array_agg(state order by id desc) filter (where purpose = 'marketing'))[1] as marketing,
         (array_agg(source order by id desc) filter (where purpose = 'marketing'))[1] as source,
         max(at) filter (where purpose = 'marketing') as at,
         (array_agg(state order by id desc) filter (where purpose = 'service'))[1] as service,
         max(at) filter (where purpose = 'service') as service_at
       from input group by contact_id)
     update contacts c set marketing_consent = coalesce(n.marketing, c.marketing_consent),
       consent_source = coalesce(n.source, c.consent_source), consent_at = coalesce(n.at, c.consent_at),
       service_consent = coalesce(n.service, c.service_consent),
       service_consent_at = coalesce(n.service_at, c.service_consent_at), updated_at = ${now}
     from newest n where c.tenant_id = ${tx.tenantId} and c.id = n.contact_id`
}
