import { addMs } from '../../platform/time.ts'
import type { Scope } from '../../scope/scope.ts'
import { ATTRIBUTED_MS } from './attribute-replies.ts'

/**
 * Attributes the opt-outs of contacts to the broadcast that reached each of them last, within 72 hours.
 * A broadcast has at most one opt-out of each recipient. The caller holds the locks of the contacts.
 */
export async function attributeOptOuts(tx: Scope, contactIds: string[]): Promise<void> {
  if (contactIds.length === 0) return
  const now = tx.now()
  await tx.sql('attributeOptOuts')`
    with newest as (
       select r.id from unnest(${contactIds}::uuid[]) as x (contact_id)
       join lateral (
         select s.id, s.opted_out_at from broadcast_recipients s
         where s.tenant_id = ${tx.tenantId} and s.contact_id = x.contact_id and s.sent_at > ${addMs(now, -ATTRIBUTED_MS)}
         order by s.sent_at desc limit 1) r on r.opted_out_at is null)
     update broadcast_recipients r set opted_out_at = ${now}, updated_at = ${now} from newest
     where r.tenant_id = ${tx.tenantId} and r.id = newest.id and r.opted_out_at is null`
}
