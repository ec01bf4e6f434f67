import pg from 'pg'
import { Agent } from 'undici'
import { v7 } from 'uuid'
import { handleCommands } from './bench-process.ts'
import { runConcurrently } from './run-concurrently.ts'

/**
 * Baseline of the broadcast bench: lists the recipients, inserts the same rows and makes the same HTTP calls, without
 * permissions, pacing, leases or retries. The rows are those that Parley wrote for one recipient, with other IDs.
 */
const BATCH_SIZE = 64
const SNAPSHOT_SIZE = 1000
const HTTP_CONCURRENCY = 16
const pool = new pg.Pool({ connectionString: process.env['DATABASE_URL'], max: 2 })
pool.on('error', () => undefined)
const agent = new Agent({ connections: HTTP_CONCURRENCY })

type Row = Record<string, unknown>
type Input = {
  tenantId: string
  channelId: string
  broadcastId: string
  language: string
  baseUrl: string
  phoneNumberId: string
  accessToken: string
  payload: Row
}
type Samples = { message: Row; conversation: Row; events: Row[] }
type Recipient = { id: string; contactId: string; phone: string; name: string }

const SQL = {
  insertRecipients: `insert into broadcast_recipients
      (tenant_id, broadcast_id, id, contact_id, address, timezone, params, status, digest, due_at, created_at, updated_at)
    select $1, $2, uuidv7(), id, phone, 'UTC', jsonb_build_object('name', name), 'pending',
      sha256(convert_to(id::text || phone, 'UTF8')), now(), now(), now()
    from contacts where tenant_id = $1 and language = $3 and id > $4 order by id limit ${SNAPSHOT_SIZE} returning contact_id`,
  insertConversations:
    'insert into conversations select * from jsonb_populate_recordset(null::conversations, $1::jsonb)',
  insertMessages: `with stored as (
      insert into messages select * from jsonb_populate_recordset(null::messages, $1::jsonb) returning *)
    insert into outbox (tenant_id, channel_id, conversation_id, message_id, priority, attempts, not_before, created_at)
    select tenant_id, channel_id, conversation_id, id, 1, 0, now(), now() from stored`,
  startRecipients: `update broadcast_recipients r set status = 'sending', message_id = x.message_id, attempt = 1, updated_at = now()
    from jsonb_to_recordset($2::jsonb) as x (id uuid, message_id uuid) where r.tenant_id = $1 and r.id = x.id`,
  insertFirstContacts: `insert into first_contacts (tenant_id, contact_id, counted_at)
    select $1, id, now() from unnest($2::uuid[]) id`,
  insertEvents: `insert into events (tenant_id, id, type, data, created_at)
    select tenant_id, id, type, data, now() from jsonb_populate_recordset(null::events, $1::jsonb)`,
  finishMessages: `with x as (select * from jsonb_to_recordset($2::jsonb) as x (id uuid, message_id uuid, wamid text)),
    removed as (delete from outbox o using x where o.tenant_id = $1 and o.message_id = x.message_id),
    sent as (
      update messages m set status = 'sent', provider_message_id = x.wamid, sent_at = now(), updated_at = now()
      from x where m.tenant_id = $1 and m.id = x.message_id returning m.*),
    ids as (
      insert into provider_message_ids (tenant_id, channel_id, provider_message_id, message_id, created_at)
      select tenant_id, channel_id, provider_message_id, id, now() from sent),
    touched as (
      update contacts c set last_outbound_at = now() from sent where c.tenant_id = $1 and c.id = sent.contact_id)
    update broadcast_recipients r set status = 'sent', provider_message_id = x.wamid, accepted_count = 1, sent_at = now(),
      updated_at = now() from x where r.tenant_id = $1 and r.id = x.id`,
}

/** Loads the rows that Parley wrote for the newest message of a broadcast. */
async function loadSamples(): Promise<Samples> {
  const { rows } = await pool.query<{ message: Row; conversation: Row; events: Row[] }>(
    `select to_jsonb(m) as message, to_jsonb(cv) as conversation, (
       select jsonb_agg(to_jsonb(e) - 'position') from events e
       where e.tenant_id = m.tenant_id and e.data ->> 'messageId' = m.id::text) as events
     from messages m join conversations cv on cv.tenant_id = m.tenant_id and cv.id = m.conversation_id
     where m.status = 'sent' and m.broadcast_id is not null order by m.id desc limit 1`,
  )
  const [samples] = rows
  if (!samples) throw new Error('Parley has sent no broadcast yet')
  return { ...samples, events: samples.events ?? [] }
}

async function transact(statements: [text: string, values: unknown[]][]): Promise<void> {
  const client = await pool.connect()
  await client.query('begin')
  for (const [text, values] of statements) await client.query(text, values)
  await client.query('commit')
  client.release()
}

async function sendBatch(input: Input, samples: Samples, recipients: Recipient[]): Promise<void> {
  const { tenantId, broadcastId } = input
  const people = recipients.map((recipient) => ({ ...recipient, messageId: v7(), conversationId: v7() }))
  const conversations = people.map(({ contactId, conversationId }) => ({
    ...samples.conversation,
    id: conversationId,
    contact_id: contactId,
  }))
  const messages = people.map(({ id, contactId, messageId, conversationId, name }) => ({
    ...samples.message,
    id: messageId,
    conversation_id: conversationId,
    contact_id: contactId,
    broadcast_id: broadcastId,
    recipient_id: id,
    body: `Hello ${name}, the sale starts today.`,
    status: 'queued',
    provider_message_id: null,
    sent_at: null,
  }))
  const toEvents = (isSent: boolean) =>
    people.flatMap(({ contactId, messageId, conversationId }) =>
      samples.events
        .filter(({ type }) => (type === 'message.sent') === isSent)
        .map((event) => ({ ...event, id: v7(), data: { messageId, conversationId, contactId } })),
    )
  await transact([
    [SQL.insertConversations, [JSON.stringify(conversations)]],
    [
      SQL.startRecipients,
      [tenantId, JSON.stringify(people.map(({ id, messageId }) => ({ id, message_id: messageId })))],
    ],
    [SQL.insertMessages, [JSON.stringify(messages)]],
    [SQL.insertFirstContacts, [tenantId, people.map(({ contactId }) => contactId)]],
    [SQL.insertEvents, [JSON.stringify(toEvents(false))]],
  ])
  const accepted: { id: string; message_id: string; wamid: string }[] = []
  await runConcurrently(people.length, HTTP_CONCURRENCY, async (index) => {
    const { id, messageId, phone } = people[index] as (typeof people)[number]
    accepted.push({ id, message_id: messageId, wamid: await post(input, { phone, messageId }) })
  })
  await transact([
    [SQL.finishMessages, [tenantId, JSON.stringify(accepted)]],
    [SQL.insertEvents, [JSON.stringify(toEvents(true))]],
  ])
}

async function post(
  { baseUrl, phoneNumberId, accessToken, payload }: Input,
  { phone, messageId }: { phone: string; messageId: string },
): Promise<string> {
  const { body } = await agent.request({
    origin: baseUrl,
    path: `/v24.0/${phoneNumberId}/messages`,
    method: 'POST',
    headers: { authorization: `Bearer ${accessToken}`, 'content-type': 'application/json' },
    body: JSON.stringify({ ...payload, to: phone, biz_opaque_callback_data: messageId }),
  })
  const answer = (await body.json()) as { messages: [{ id: string }] }
  return answer.messages[0].id
}

handleCommands({
  /** Lists the contacts of a language as recipients. */
  async snapshot({ tenantId, broadcastId, language }: Input) {
    let after = '00000000-0000-0000-0000-000000000000'
    for (;;) {
      const { rows } = await pool.query<{ contact_id: string }>(SQL.insertRecipients, [
        tenantId,
        broadcastId,
        language,
        after,
      ])
      if (rows.length === 0) return
      after = rows.map(({ contact_id }) => contact_id).reduce((a, b) => (a > b ? a : b))
    }
  },

  /** Sends to all recipients of a broadcast. */
  async send(input: Input) {
    const samples = await loadSamples()
    for (;;) {
      const { rows } = await pool.query<Recipient>(
        `select r.id, r.contact_id as "contactId", r.address as phone, r.params ->> 'name' as name
         from broadcast_recipients r where tenant_id = $1 and broadcast_id = $2 and status = 'pending' order by due_at, id
         limit ${BATCH_SIZE}`,
        [input.tenantId, input.broadcastId],
      )
      if (rows.length === 0) return
      await sendBatch(input, samples, rows)
    }
  },
})
