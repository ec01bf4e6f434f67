import pg from 'pg'
import { v7 } from 'uuid'
import { handleCommands } from './bench-process.ts'
import { RowTemplate } from './row-template.ts'
import { runConcurrently } from './run-concurrently.ts'

/**
 * Baseline of the engine bench: executes the SQL statements that advance a batch of mailboxes, without any decision logic.
 * The rows are those that the engine wrote for one message, with other IDs, names and times.
 */
const CONCURRENCY = 8
/** One connection more than concurrent batches, to load the templates while all others are in use. */
const pool = new pg.Pool({ connectionString: process.env['DATABASE_URL'], max: CONCURRENCY + 1 })
pool.on('error', () => undefined)
const BATCH_SIZE = 50
const MAX_EVENTS_PER_RUN = 5
const STEPS_PER_RUN = 4

type Templates = { run: RowTemplate; steps: RowTemplate; message: RowTemplate; events: RowTemplate }
type Subject = {
  id: string
  contact_id: string
  channel_id: string
  workspace: object
  contact: { id: string; name: string }
}
type Item = { id: string; mailbox_id: string; payload: { messageId: string } }

type Row = Record<string, unknown>

let loadedTemplates: Promise<Templates> | undefined

const CONTACT = `jsonb_build_object('id', c.id, 'name', c.name, 'phone', c.phone, 'email', c.email,
  'language', c.language, 'country', c.country, 'timezone', c.timezone, 'fields', c.fields, 'blocked', c.blocked,
  'consent', jsonb_build_object('marketing', c.marketing_consent),
  'tags', coalesce((select jsonb_agg(t.name order by lower(t.name)) from contact_tags ct
    join tags t on t.tenant_id = ct.tenant_id and t.id = ct.tag_id
    where ct.tenant_id = c.tenant_id and ct.contact_id = c.id), '[]'),
  'groupIds', coalesce((select jsonb_agg(gc.group_id) from group_contacts gc
    where gc.tenant_id = c.tenant_id and gc.contact_id = c.id), '[]'))`

const SQL = {
  selectMailboxes: `select distinct mailbox_id from (
    select mailbox_id from mailbox_items where tenant_id = $1 and due_at <= $2 order by id limit ${BATCH_SIZE}) oldest`,
  lockConversations: 'select 1 from conversations where tenant_id = $1 and id = any($2) order by id for no key update',
  claimItems: `delete from mailbox_items where tenant_id = $1 and mailbox_id = any($2) and due_at <= $3
    returning id, mailbox_kind, mailbox_id, kind, payload, attempts`,
  loadSubjects: `select cv.id, cv.channel_id, cv.contact_id, cv.automation_state, cv.automation_until, ${CONTACT} as contact,
      jsonb_build_object('id', cv.id, 'status', cv.status, 'channel', ch.kind, 'channelId', cv.channel_id,
        'assigneeId', cv.assignee_id, 'unreadCount', cv.unread_count, 'lastMessageId', cv.last_message ->> 'id') as conversation,
      jsonb_build_object('id', w.id, 'name', w.name, 'timezone', w.timezone, 'language', w.language, 'country', w.country) as workspace,
      cv.last_inbound_at, cv.window_expires_at
    from conversations cv
    join contacts c on c.tenant_id = cv.tenant_id and c.id = cv.contact_id
    join channels ch on ch.tenant_id = cv.tenant_id and ch.id = cv.channel_id
    join workspaces w on w.id = cv.tenant_id
    where cv.tenant_id = $1 and cv.id = any($2)`,
  loadMessages:
    'select id, body, type, content, provider_at, created_at from messages where tenant_id = $1 and id = any($2)',
  loadActiveRuns: `select id, state from runs where tenant_id = $1 and coalesce(conversation_id, contact_id, mailbox_run_id, id) = any($2)
    and status in ('queued', 'running', 'waiting') order by id desc`,
  insertRuns: 'insert into runs select * from jsonb_populate_recordset(null::runs, $1::jsonb)',
  insertMessages: `with new_messages as (insert into messages select * from jsonb_populate_recordset(null::messages, $1::jsonb) returning 1)
    insert into outbox (tenant_id, channel_id, conversation_id, message_id, priority, attempts, not_before, created_at)
    select $2, x.channel_id, x.conversation_id, x.id, 0, 0, $3, $3
    from jsonb_to_recordset($1::jsonb) as x (id uuid, channel_id uuid, conversation_id uuid)`,
  touchConversations: `with updated as (
      update conversations cv set last_message = x.last, last_message_at = $3, updated_at = $3
      from jsonb_to_recordset($2::jsonb) as x (id uuid, last jsonb) where cv.tenant_id = $1 and cv.id = x.id),
    locked as (select id from contacts where tenant_id = $1 and id = any($4) order by id for no key update)
    update contacts c set last_outbound_at = $3 from locked where c.tenant_id = $1 and c.id = locked.id`,
  insertTags: `insert into contact_tags (tenant_id, contact_id, tag_id, created_at)
    select $1, contact_id, t.id, $3 from unnest($2::uuid[]) contact_id
    join tags t on t.tenant_id = $1 and lower(t.name) = 'greeted' on conflict do nothing`,
  insertSteps: 'insert into run_steps select * from jsonb_populate_recordset(null::run_steps, $1::jsonb)',
  insertEvents: `insert into events (tenant_id, id, type, data, created_at)
    select tenant_id, id, type, data, created_at from jsonb_populate_recordset(null::events, $1::jsonb)`,
  enqueueJob: `insert into wakeups (task, tenant_id, key) values ('deliver', $1, $2) on conflict do nothing`,
}

/** Loads the rows that the engine wrote for the newest completed run, as templates. */
async function loadTemplates(): Promise<Templates> {
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
       and created_at = (select created_at from events where tenant_id = $1 and type = 'run.completed' and data ->> 'runId' = $2)
     order by id`,
    [run['tenant_id'], run['id'], message['id'], run['contact_id']],
  )
  const trigger = run['trigger'] as { messageId: string }
  const state = run['state'] as { message: { body: string } }
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
    ...steps.map((step, index): [string, string] => [String(step['id']), `step${index}`]),
    ...events.map((event, index): [string, string] => [String(event['id']), `event${index}`]),
    ...[message, ...events].map((row): [string, string] => [String(row['created_at']), 'now']),
    [state.message.body, 'body'],
  ])
  const queuedMessage = { ...message, status: 'queued', provider_message_id: null, sent_at: null, delivered_at: null }
  const now = new Date(String(run['created_at']))
  const toTemplate = (sampleRows: object[]) => new RowTemplate(sampleRows, names, now)
  return {
    run: toTemplate([run]),
    steps: toTemplate(steps),
    message: toTemplate([queuedMessage]),
    events: toTemplate(events),
  }
}

/** Builds the placeholder values of the run of each item. */
function buildValues(
  { tenantId, workflowId, at }: { tenantId: string; workflowId: string; at: string },
  items: Item[],
  subjects: Subject[],
  messages: { id: string; body: string }[],
) {
  const subjectsById = new Map(subjects.map((subject) => [subject.id, subject]))
  const bodiesById = new Map(messages.map(({ id, body }) => [id, body]))
  return items.map(({ id, mailbox_id, payload: { messageId } }) => {
    const { contact, contact_id, channel_id } = subjectsById.get(mailbox_id) as Subject
    return {
      now: at,
      tenant: tenantId,
      workflow: workflowId,
      run: v7(),
      conversation: mailbox_id,
      item: id,
      contact: contact_id,
      channel: channel_id,
      message: messageId,
      body: bodiesById.get(messageId) ?? '',
      answer: v7(),
      name: contact.name,
      ...buildIds('event', MAX_EVENTS_PER_RUN),
      ...buildIds('step', STEPS_PER_RUN),
    }
  })
}

/** Builds new IDs under the placeholder names `prefix0`, `prefix1`… */
function buildIds(prefix: string, count: number): Record<string, string> {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`${prefix}${index}`, v7()]))
}

function toLastMessages(values: { conversation: string; answer: string; name: string }[], at: string) {
  return values.map(({ conversation, answer, name }) => ({
    id: conversation,
    last: { id: answer, direction: 'outbound', type: 'text', body: `Hello ${name}, thanks!`, at },
  }))
}

/** Advances the oldest mailboxes of a workspace in one transaction; returns false if there are none. */
async function advanceBatch(
  client: pg.PoolClient,
  { tenantId, workflowId }: { tenantId: string; workflowId: string },
): Promise<boolean> {
  const templates = await (loadedTemplates ??= loadTemplates())
  const now = new Date()
  const at = now.toISOString()
  const { rows: mailboxes } = await client.query<{ mailbox_id: string }>(SQL.selectMailboxes, [tenantId, now])
  if (mailboxes.length === 0) return false
  const ids = mailboxes.map(({ mailbox_id }) => mailbox_id)
  await client.query('begin')
  await client.query(SQL.lockConversations, [tenantId, ids])
  const { rows: items } = await client.query<Item>(SQL.claimItems, [tenantId, ids, now])
  const { rows: subjects } = await client.query<Subject>(SQL.loadSubjects, [tenantId, ids])
  const messageIds = items.map(({ payload }) => payload.messageId)
  const { rows: messages } = await client.query<{ id: string; body: string }>(SQL.loadMessages, [tenantId, messageIds])
  await client.query(SQL.loadActiveRuns, [tenantId, ids])
  const values = buildValues({ tenantId, workflowId, at }, items, subjects, messages)
  const fillRows = (template: RowTemplate) => `[${values.map((value) => template.fill(value)).join(',')}]`
  const contactIds = values.map(({ contact }) => contact)
  await client.query(SQL.insertRuns, [fillRows(templates.run)])
  await client.query(SQL.insertMessages, [fillRows(templates.message), tenantId, now])
  await client.query(SQL.touchConversations, [tenantId, JSON.stringify(toLastMessages(values, at)), now, contactIds])
  await client.query(SQL.insertTags, [tenantId, contactIds, now])
  await client.query(SQL.insertSteps, [fillRows(templates.steps)])
  await client.query(SQL.insertEvents, [fillRows(templates.events)])
  const channel = values[0]?.channel
  await client.query('commit')
  await client.query(SQL.enqueueJob, [tenantId, channel])
  return true
}

handleCommands({
  async advance(workspaces: { tenantId: string; workflowId: string }[]) {
    await runConcurrently(workspaces.length, CONCURRENCY, async (index) => {
      const client = await pool.connect()
      while (await advanceBatch(client, workspaces[index] as { tenantId: string; workflowId: string }));
      client.release()
    })
  },
})
