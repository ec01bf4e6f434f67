import type pg from 'pg'
import { v7 } from 'uuid'
import { RowTemplate } from './row-template.ts'

export type Customer = { tenant_id: string; conversation_id: string; contact_id: string }
type Values = Record<string, string>
type Write = { sql: string; parameters: unknown[] }
type Row = Record<string, unknown>

const TABLES = ['channel_webhooks', 'provider_message_ids', 'messages', 'runs', 'run_steps', 'events'] as const

/** The rows that Parley stored for its newest answer, by table; events without the positions that readers give them. */
const SAMPLE = `
  with answer as (
    select r.tenant_id, r.id as run_id, r.trigger ->> 'messageId' as inbound_id, m.id as outbound_id
    from runs r join messages m on m.tenant_id = r.tenant_id and m.run_id = r.id
    where r.status = 'completed' and m.provider_message_id is not null order by r.id desc limit 1),
  ids as (select tenant_id, unnest(array[inbound_id, outbound_id::text])::uuid as id from answer)
  select 'runs' as table, to_jsonb(r) as row from runs r join answer a on r.tenant_id = a.tenant_id and r.id = a.run_id
  union all select 'run_steps', to_jsonb(s) from run_steps s join answer a on s.tenant_id = a.tenant_id and s.run_id = a.run_id
  union all select 'messages', to_jsonb(m) from messages m join ids on m.tenant_id = ids.tenant_id and m.id = ids.id
  union all select 'provider_message_ids', to_jsonb(p) from provider_message_ids p
    join ids on p.tenant_id = ids.tenant_id and p.message_id = ids.id
  union all select 'channel_webhooks', to_jsonb(w) from channel_webhooks w
    join ids on w.tenant_id = ids.tenant_id
    join messages m on m.tenant_id = w.tenant_id and m.id = ids.id and m.direction = 'inbound'
    where convert_from(w.body, 'UTF8') like '%' || m.provider_message_id || '%'
  union all select 'events', to_jsonb(e) || '{"position": null}' from events e join answer a on e.tenant_id = a.tenant_id
    where e.data ->> 'messageId' in (a.inbound_id, a.outbound_id::text) or e.data ->> 'runId' = a.run_id::text`

/** Tables with the columns and indexes of Parley's, without foreign keys and triggers, and its customers by phone number. */
const CREATE = `
  ${TABLES.map((table) => `create table baseline.${table} (like public.${table} including all);`).join('\n')}
  create table baseline.conversations (like public.conversations including all);
  insert into baseline.conversations select * from public.conversations;
  create table baseline.contacts (like public.contacts including all);
  insert into baseline.contacts select * from public.contacts;
  create table baseline.customers as
    select c.phone, c.tenant_id, cv.id as conversation_id, c.id as contact_id
    from public.contacts c join public.conversations cv on cv.tenant_id = c.tenant_id and cv.contact_id = c.id
    where c.phone is not null;
  create unique index on baseline.customers (phone);`

/** Writes the rows that Parley kept for its newest answer again, with other IDs, times and customers. */
export class AnswerRows {
  readonly findCustomer = 'select tenant_id, conversation_id, contact_id from baseline.customers where phone = $1'
  readonly #templates: Map<string, RowTemplate>
  /** Names of the placeholders of new IDs. */
  readonly #ids: string[]

  private constructor(templates: Map<string, RowTemplate>, ids: string[]) {
    this.#templates = templates
    this.#ids = ids
  }

  static async load(pool: pg.Pool): Promise<AnswerRows> {
    await pool.query(CREATE)
    const { rows } = await pool.query<{ table: string; row: Row }>(SAMPLE)
    const ofTable = (table: string) => rows.flatMap((entry) => (entry.table === table ? [entry.row] : []))
    const [run = {}] = ofTable('runs')
    const outbound = ofTable('messages').find(({ direction }) => direction === 'outbound') ?? {}
    const newIds = new Set(
      rows.flatMap(({ row }) => [row['id'], String(row['provider_message_id']).replace('wamid.', '')].map(String)),
    )
    const names = new Map<string, string>([...newIds].map((id, index) => [id, `id${index}`]))
    names.set(String(run['tenant_id']), 'tenant')
    names.set(String(run['conversation_id']), 'conversation')
    names.set(String(run['contact_id']), 'contact')
    names.set(String(outbound['id']), 'answer')
    for (const { row } of rows) names.set(String(row['created_at']), 'now')
    const templates = TABLES.map((table): [string, RowTemplate] => {
      const sample = ofTable(table)
      if (sample.length === 0) throw new Error(`The newest answer has no rows in ${table}`)
      return [table, new RowTemplate(sample, names, new Date(String(run['created_at'])))]
    })
    return new AnswerRows(
      new Map(templates),
      [...new Set(names.values())].filter((name) => /^id\d/.test(name)),
    )
  }

  buildValues({ tenant_id, conversation_id, contact_id }: Customer, body: string): Values {
    const values: Values = { tenant: tenant_id, conversation: conversation_id, contact: contact_id, body }
    for (const id of this.#ids) values[id] = v7()
    return { ...values, answer: v7(), now: new Date().toISOString() }
  }

  /** Lists the statements of the transaction that stores a message and its answer. */
  listWrites(values: Values): Write[] {
    const { tenant, conversation, contact, now, body } = values
    return [
      ...TABLES.map((table) => ({
        sql: `insert into baseline.${table} select * from jsonb_populate_recordset(null::baseline.${table}, $1::jsonb)`,
        parameters: [`[${this.#templates.get(table)?.fill(values) ?? ''}]`],
      })),
      {
        sql: `update baseline.conversations set last_message = $3, last_message_at = $4, last_inbound_at = $4,
            window_expires_at = $4::timestamptz + interval '1 day', unread_count = unread_count + 1, updated_at = $4
          where tenant_id = $1 and id = $2`,
        parameters: [tenant, conversation, JSON.stringify({ body }), now],
      },
      {
        sql: 'update baseline.contacts set last_inbound_at = $3, last_outbound_at = $3 where tenant_id = $1 and id = $2',
        parameters: [tenant, contact, now],
      },
    ]
  }

  /** Lists the statements of the transaction that stores the outcome of the send. */
  listOutcome({ tenant, answer, now }: Values): Write[] {
    return [
      {
        sql: `update baseline.messages set status = 'sent', sent_at = $3, updated_at = $3 where tenant_id = $1 and id = $2`,
        parameters: [tenant, answer, now],
      },
    ]
  }
}
