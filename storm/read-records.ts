import type pg from 'pg'
import type { Customer } from './population.ts'
import { takenFor, type Workspace } from './workspace.ts'

export type Message = { id: string; body: string; ref: string | null; status: string; code: string | null }
export type Run = { id: string; status: string; eventId: string }
type Conversation = { inbound: Message[]; outbound: Message[]; runs: Run[] }

/** What the database holds at the end, by customer, in the order of ids; of runs those that no run started. */
export class Recorded {
  /** Messages that were in doubt, if only until a status cleared that up. */
  readonly doubted = new Set<string>()
  readonly #conversations = new Map<string, Conversation>()

  static async read(client: pg.Client): Promise<Recorded> {
    const records = new Recorded()
    const messages = await client.query<Message & { tenantId: string; phone: string; direction: string }>(
      `select m.tenant_id as "tenantId", c.phone, m.direction, m.id, m.body, m.provider_message_id as ref, m.status,
         m.error ->> 'code' as code
       from messages m join contacts c on c.tenant_id = m.tenant_id and c.id = m.contact_id order by m.id`,
    )
    for (const { tenantId, phone, direction, ...message } of messages.rows) {
      const { inbound, outbound } = records.#open(tenantId, phone)
      ;(direction === 'inbound' ? inbound : outbound).push(message)
    }
    const runs = await client.query<Run & { tenantId: string; phone: string }>(
      `select r.tenant_id as "tenantId", c.phone, r.id, r.status, r.trigger_event_id as "eventId"
       from runs r join contacts c on c.tenant_id = r.tenant_id and c.id = r.contact_id
       where r.parent_run_id is null order by r.id`,
    )
    for (const { tenantId, phone, ...run } of runs.rows) records.#open(tenantId, phone).runs.push(run)
    const doubts = await client.query<{ id: string }>(
      `select distinct data ->> 'messageId' as id from events where type = 'message.failed'`,
    )
    for (const { id } of doubts.rows) records.doubted.add(id)
    return records
  }

  of(tenantId: string, phone: string): Conversation {
    return this.#conversations.get(`${tenantId} +${phone}`) ?? { inbound: [], outbound: [], runs: [] }
  }

  /** The ids of the messages that the provider took for a customer, as it took them. */
  taken(workspace: Workspace, customer: Customer): string[] {
    return takenFor(workspace, customer).map(({ callbackData }) => callbackData ?? '')
  }

  #open(tenantId: string, phone: string): Conversation {
    const key = `${tenantId} ${phone}`
    const conversation = this.#conversations.get(key) ?? { inbound: [], outbound: [], runs: [] }
    this.#conversations.set(key, conversation)
    return conversation
  }
}
