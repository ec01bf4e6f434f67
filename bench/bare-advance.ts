import pg from 'pg'
import { v7 } from 'uuid'
import { takeOrders } from './bench-process.ts'
import { inParallel } from './measure.ts'
import { RowTemplate } from './row-template.ts'

/**
 * The floor: the statements that bring a batch of mailboxes forward, and nothing that decides. What is written is what
 * the engine wrote for one message, with other ids, names and times.
 */
const WIDTH = 8
/** One more than work at once: what is written is looked up while all of them are busy. */
const pool = new pg.Pool({ connectionString: process.env['DATABASE_URL'], max: WIDTH + 1 })
pool.on('error', () => undefined)
const BATCH = 50

type Templates = { run: RowTemplate; steps: RowTemplate; message: RowTemplate; events: RowTemplate }
type Party = {
  id: string
  contact_id: string
  channel_id: string
  workspace: object
  contact: { id: string; name: string }
}
type Item = { id: string; mailbox_id: string; payload: { messageId: string } }

let learned: Promise<Templates> | undefined

const CONTACT = `jsonb_build_object('id', c.id, 'name', c.name, 'phone', c.phone, 'email', c.email,
  'language', c.language, 'country', c.country, 'timezone', c.timezone, 'fields', c.fields, 'blocked', c.blocked,
  'consent', jsonb_build_object('marketing', c.marketing_consent),
  'tags', coalesce((select jsonb_agg(t.name order by lower(t.name)) from contact_tags ct
    join tags t on t.tenant_id = ct.tenant_id and t.id = ct.tag_id
    where ct.tenant_id = c.tenant_id and ct.contact_id = c.id), '[]'),
  'groupIds', coalesce((select jsonb_agg(gc.group_id) from group_contacts gc
    where gc.tenant_id = c.tenant_id and gc.contact_id = c.id), '[]'))`

const SQL = {
  pick: `select distinct mailbox_id from (
    select mailbox_id from mailbox_items where tenant_id = $1 and due_at <= $2 order by id limit ${BATCH}) oldest`,
  lock: 'select 1 from conversations where tenant_id = $1 and id = any($2) order by id for no key update',
  take: `delete from mailbox_items where tenant_id = $1 and mailbox_id = any($2) and due_at <= $3
    returning id, mailbox_kind, mailbox_id, kind, payload, attempts`,
  load: `select cv.id, cv.channel_id, cv.contact_id, cv.automation_state, cv.automation_until, ${CONTACT} as contact,
      jsonb_build_object('id', cv.id, 'status', cv.status, 'channel', ch.kind, 'channelId', cv.channel_id,
        'assigneeId', cv.assignee_id, 'unreadCount', cv.unread_count, 'lastMessageId', cv.last_message ->> 'id') as conversation,
      jsonb_build_object('id', w.id, 'name', w.name, 'timezone', w.timezone) as workspace,
      cv.last_inbound_at, cv.window_expires_at
    from conversations cv
    join contacts c on c.tenant_id = cv.tenant_id and c.id = cv.contact_id
    join channels ch on ch.tenant_id = cv.tenant_id and ch.id = cv.channel_id
    join workspaces w on w.id = cv.tenant_id
    where cv.tenant_id = $1 and cv.id = any($2)`,
  messages:
    'select id, body, type, content, provider_at, created_at from messages where tenant_id = $1 and id = any($2)',
  open: `select id, state from runs where tenant_id = $1 and coalesce(conversation_id, contact_id, mailbox_run_id, id) = any($2)
    and status in ('queued', 'running', 'waiting') order by id desc`,
  runs: 'insert into runs select * from jsonb_populate_recordset(null::runs, $1::jsonb)',
  queue: `with stored as (insert into messages select * from jsonb_populate_recordset(null::messages, $1::jsonb) returning 1)
    insert into outbox (tenant_id, channel_id, conversation_id, message_id, priority, attempts, not_before, created_at)
    select $2, x.channel_id, x.conversation_id, x.id, 0, 0, $3, $3
    from jsonb_to_recordset($1::jsonb) as x (id uuid, channel_id uuid, conversation_id uuid)`,
  note: `with noted as (
      update conversations cv set last_message = x.last, last_message_at = $3, updated_at = $3
      from jsonb_to_recordset($2::jsonb) as x (id uuid, last jsonb) where cv.tenant_id = $1 and cv.id = x.id),
    held as (select id from contacts where tenant_id = $1 and id = any($4) order by id for no key update)
    update contacts c set last_outbound_at = $3 from held where c.tenant_id = $1 and c.id = held.id`,
  tag: `insert into contact_tags (tenant_id, contact_id, tag_id, created_at)
    select $1, contact_id, t.id, $3 from unnest($2::uuid[]) contact_id
    join tags t on t.tenant_id = $1 and lower(t.name) = 'greeted' on conflict do nothing`,
  steps: 'insert into run_steps select * from jsonb_populate_recordset(null::run_steps, $1::jsonb)',
  events: `insert into events (tenant_id, id, type, data, created_at)
    select tenant_id, id, type, data, created_at from jsonb_populate_recordset(null::events, $1::jsonb)`,
  ring: `select count(*) from graphile_worker.add_jobs(
    array(select json_populate_recordset(null::graphile_worker.job_spec, $1::json)))`,
}

/** How one message was answered, whose run was the newest to be completed. */
async function learn(): Promise<Templates> {
  const { rows } = await pool.query<{ run: Row; steps: Row[]; message: Row; name: string }>(
    `select to_jsonb(r) as run, to_jsonb(m) as message, c.name,
       (select jsonb_agg(to_jsonb(s) order by s.index) from run_steps s where s.tenant_id = r.tenant_id and s.run_id = r.id) as steps
     from runs r join messages m on m.tenant_id = r.tenant_id and m.run_id = r.id
     join contacts c on c.tenant_id = r.tenant_id and c.id = r.contact_id
     where r.status = 'completed' order by r.id desc limit 1`,
  )
  const { run, steps, message, name } = rows[0] as { run: Row; steps: Row[]; message: Row; name: string }
  const { rows: events } = await pool.query<Row>(
    `select id, tenant_id, type, data, to_jsonb(created_at) as created_at from events
     where tenant_id = $1 and (data ->> 'runId' = $2 or data ->> 'messageId' = $3 or data ->> 'contactId' = $4)
       and xid = (select xid from events where tenant_id = $1 and type = 'run.completed' and data ->> 'runId' = $2)
     order by id`,
    [run['tenant_id'], run['id'], message['id'], run['contact_id']],
  )
  const trigger = run['trigger'] as { messageId: string }
  const names = new Map<string, string>([
    [String(run['tenant_id']), 'tenant'],
    [String(run['workflow_id']), 'workflow'],
    [String(run['id']), 'run'],
    [String(run['conversation_id']), 'conversation'],
    [String(run['contact_id']), 'contact'],
    [String(message['channel_id']), 'channel'],
    [String(message['id']), 'answer'],
    [trigger.messageId, 'message'],
    [String(run['trigger_event_id']), 'item'],
    [name, 'name'],
    ...steps.map((step, n): [string, string] => [String(step['id']), `step${n}`]),
    ...events.map((event, n): [string, string] => [String(event['id']), `event${n}`]),
    ...[message, ...events].map((row): [string, string] => [String(row['created_at']), 'now']),
  ])
  const state = run['state'] as { message: { body: string } }
  names.set(state.message.body, 'body')
  const queued = { ...message, status: 'queued', provider_message_id: null, sent_at: null, delivered_at: null }
  const now = new Date(String(run['created_at']))
  const template = (all: object[]) => new RowTemplate(all, names, now)
  return { run: template([run]), steps: template(steps), message: template([queued]), events: template(events) }
}

type Row = Record<string, unknown>

/** What stands in the rows of each message's run under the names of the templates. */
function namesOf(
  { tenantId, workflowId, at }: { tenantId: string; workflowId: string; at: string },
  items: Item[],
  parties: Party[],
  messages: { id: string; body: string }[],
) {
  const partyOf = new Map(parties.map((party) => [party.id, party]))
  const bodyOf = new Map(messages.map(({ id, body }) => [id, body]))
  return items.map(({ id, mailbox_id, payload: { messageId } }) => {
    const { contact, contact_id, channel_id } = partyOf.get(mailbox_id) as Party
    const ofRun = { now: at, tenant: tenantId, workflow: workflowId, run: v7(), conversation: mailbox_id, item: id }
    const ofMessage = { contact: contact_id, channel: channel_id, message: messageId, answer: v7(), name: contact.name }
    const events = { event0: v7(), event1: v7(), event2: v7(), event3: v7(), event4: v7() }
    const steps = { step0: v7(), step1: v7(), step2: v7(), step3: v7() }
    return { ...ofRun, ...ofMessage, ...events, ...steps, body: bodyOf.get(messageId) ?? '' }
  })
}

function lastMessagesOf(values: { conversation: string; answer: string; name: string }[], at: string) {
  return values.map(({ conversation, answer, name }) => ({
    id: conversation,
    last: { id: answer, direction: 'outbound', type: 'text', body: `Hello ${name}, thanks!`, at },
  }))
}

function bellOf(tenantId: string, channelId: string) {
  return {
    identifier: 'deliver',
    payload: { tenantId, channelId },
    job_key: `deliver:${tenantId}:${channelId}`,
    max_attempts: 25,
  }
}

async function advanceBatch(
  client: pg.PoolClient,
  tenantId: string,
  workflowOf: (id: string) => string,
): Promise<boolean> {
  const templates = await (learned ??= learn())
  const now = new Date()
  const at = now.toISOString()
  const { rows: picked } = await client.query<{ mailbox_id: string }>(SQL.pick, [tenantId, now])
  if (picked.length === 0) return false
  const ids = picked.map(({ mailbox_id }) => mailbox_id)
  await client.query('begin')
  await client.query(SQL.lock, [tenantId, ids])
  const { rows: items } = await client.query<Item>(SQL.take, [tenantId, ids, now])
  const { rows: parties } = await client.query<Party>(SQL.load, [tenantId, ids])
  const messageIds = items.map(({ payload }) => payload.messageId)
  const { rows: messages } = await client.query<{ id: string; body: string }>(SQL.messages, [tenantId, messageIds])
  await client.query(SQL.open, [tenantId, ids])
  const values = namesOf({ tenantId, workflowId: workflowOf(tenantId), at }, items, parties, messages)
  const rowsOf = (template: RowTemplate) => `[${values.map((value) => template.fill(value)).join(',')}]`
  const contactIds = values.map(({ contact }) => contact)
  await client.query(SQL.runs, [rowsOf(templates.run)])
  await client.query(SQL.queue, [rowsOf(templates.message), tenantId, now])
  await client.query(SQL.note, [tenantId, JSON.stringify(lastMessagesOf(values, at)), now, contactIds])
  await client.query(SQL.tag, [tenantId, contactIds, now])
  await client.query(SQL.steps, [rowsOf(templates.steps)])
  await client.query(SQL.events, [rowsOf(templates.events)])
  const channel = values[0]?.channel ?? ''
  await client.query(SQL.ring, [JSON.stringify([bellOf(tenantId, channel)])])
  await client.query('commit')
  return true
}

takeOrders({
  async advance(workspaces: { tenantId: string; workflowId: string }[]) {
    const workflows = new Map(workspaces.map(({ tenantId, workflowId }) => [tenantId, workflowId]))
    await inParallel(workspaces.length, WIDTH, async (n) => {
      const { tenantId } = workspaces[n] as { tenantId: string }
      const client = await pool.connect()
      while (await advanceBatch(client, tenantId, (id) => workflows.get(id) ?? ''));
      client.release()
    })
  },
})
