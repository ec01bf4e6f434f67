import type pg from 'pg'
import type { Customer } from './customer-factory.ts'
import { listAcceptedSends, type Workspace } from './workspace.ts'

export type Message = {
  id: string
  body: string
  providerMessageId: string | null
  status: string
  errorCode: string | null
}
export type Run = { id: string; status: string; eventId: string; error: string | null; errorCode: string | null }
/** Messages and root runs of one customer, in the order of their IDs. */
export type Conversation = { inbound: Message[]; outbound: Message[]; runs: Run[] }

/** Rows of the database at the end of the test, grouped by customer. */
export class DatabaseSnapshot {
  /** IDs of the messages whose delivery was unknown at any time, including those that a status resolved later. */
  readonly uncertainMessageIds = new Set<string>()
  readonly #conversations = new Map<string, Conversation>()

  static async read(client: pg.Client): Promise<DatabaseSnapshot> {
    const snapshot = new DatabaseSnapshot()
    const messages = await client.query<Message & { tenantId: string; phone: string; direction: string }>(
      `select m.tenant_id as "tenantId", c.phone, m.direction, m.id, m.body,
         m.provider_message_id as "providerMessageId", m.status, m.error ->> 'code' as "errorCode"
       from messages m join contacts c on c.tenant_id = m.tenant_id and c.id = m.contact_id order by m.id`,
    )
    for (const { tenantId, phone, direction, ...message } of messages.rows) {
      const { inbound, outbound } = snapshot.#getOrCreate(tenantId, phone)
      ;(direction === 'inbound' ? inbound : outbound).push(message)
    }
    const runs = await client.query<Run & { tenantId: string; phone: string }>(
      `select r.tenant_id as "tenantId", c.phone, r.id, r.status, r.trigger_event_id as "eventId", r.error::text,
         r.error ->> 'code' as "errorCode"
       from runs r join contacts c on c.tenant_id = r.tenant_id and c.id = r.contact_id
       where r.parent_run_id is null order by r.id`,
    )
    for (const { tenantId, phone, ...run } of runs.rows) snapshot.#getOrCreate(tenantId, phone).runs.push(run)
    const failures = await client.query<{ id: string }>(
      `select distinct data ->> 'messageId' as id from events where type = 'message.failed'`,
    )
    for (const { id } of failures.rows) snapshot.uncertainMessageIds.add(id)
    return snapshot
  }

  getConversation(tenantId: string, phone: string): Conversation {
    return this.#conversations.get(`${tenantId} +${phone}`) ?? { inbound: [], outbound: [], runs: [] }
  }

  #getOrCreate(tenantId: string, phone: string): Conversation {
    const key = `${tenantId} ${phone}`
    const conversation = this.#conversations.get(key) ?? { inbound: [], outbound: [], runs: [] }
    this.#conversations.set(key, conversation)
    return conversation
  }
}

/** Lists the IDs of the messages that the provider accepted for a customer, in order of acceptance. */
export function listAcceptedIds(workspace: Workspace, customer: Customer): string[] {
  return listAcceptedSends(workspace, customer).map(({ callbackData }) => callbackData ?? '')
}
