import pg from 'pg'

const CHUNK_SIZE = 250_000
/** One of this many runs gets steps and an answer. They are found by ID, so the others would only take space. */
const DETAILS_INTERVAL = 10
const TABLES = ['runs', 'run_steps', 'messages']

/** Inserts past runs, each a copy of the newest completed run. */
export async function insertPastRuns(adminUrl: string, count: number): Promise<void> {
  const database = new pg.Client({ connectionString: adminUrl })
  await database.connect()
  try {
    // Copies of valid rows do not need their foreign keys checked.
    await database.query(`set session_replication_role = replica; set synchronous_commit = off;
      set maintenance_work_mem = '1GB'; set work_mem = '256MB'`)
    const buildInsert = await prepareInsert(database)
    await database.query(
      `create table bench_conversations as select row_number() over (order by cv.id) - 1 as position, cv.tenant_id,
         cv.id as conversation_id, cv.contact_id, cv.channel_id, w.id as workflow_id
       from conversations cv join workflows w on w.tenant_id = cv.tenant_id`,
    )
    await database.query('analyze bench_conversations')
    const indexes = await dropIndexes(database)
    for (let first = 0; first < count; first += CHUNK_SIZE) {
      await database.query(buildInsert(first, Math.min(first + CHUNK_SIZE, count) - 1, count))
    }
    for (const definition of indexes) await database.query(definition)
    await database.query('drop table bench_conversations')
    for (const table of TABLES) await database.query(`vacuum (analyze) ${table}`)
    await database.query('checkpoint')
  } finally {
    await database.end()
  }
}

/** Drops the indexes that no constraint needs, which are faster to build at the end, and returns their definitions. */
async function dropIndexes(database: pg.Client): Promise<string[]> {
  const { rows } = await database.query<{ name: string; definition: string }>(
    `select indexname as name, indexdef as definition from pg_indexes
     where tablename = any($1) and indexname not in (select conname from pg_constraint)`,
    [TABLES],
  )
  for (const { name } of rows) await database.query(`drop index ${name}`)
  return rows.map(({ definition }) => definition)
}

type BuildInsert = (first: number, last: number, count: number) => string

/** Prepares the statement that inserts runs spread evenly over ninety days and over the conversations. */
async function prepareInsert(database: pg.Client): Promise<BuildInsert> {
  const { rows } = await database.query<{ id: string }>(
    `select id from runs where status = 'completed' order by id desc limit 1`,
  )
  const templateId = rows[0]?.id
  const times = { created_at: 'p.at', updated_at: 'p.at', queued_at: 'p.at', started_at: 'p.at', finished_at: 'p.at' }
  const owner = { tenant_id: 'p.tenant_id', conversation_id: 'p.conversation_id', contact_id: 'p.contact_id' }
  const run = { ...times, ...owner, id: 'p.run_id', root_run_id: 'p.run_id', workflow_id: 'p.workflow_id' }
  const columns = {
    runs: await listColumns(database, 'runs', { ...run, trigger_event_id: 'p.event_id' }),
    run_steps: await listColumns(database, 'run_steps', {
      ...times,
      tenant_id: 'p.tenant_id',
      run_id: 'p.run_id',
      id: 'uuidv7(p.at - now())',
      message_id: 'case when t.message_id is not null then p.answer_id end',
    }),
    messages: await listColumns(database, 'messages', {
      ...times,
      ...owner,
      channel_id: 'p.channel_id',
      run_id: 'p.run_id',
      id: 'p.answer_id',
    }),
  }
  return (first, last, count) => `
    with p as materialized (
      select n, at, uuidv7(at - now()) as run_id, uuidv7(at - now()) as event_id, uuidv7(at - now()) as answer_id, c.*
      from (select n, now() - interval '90 days' * (1 - n::float / ${count}) - interval '1 hour' as at
        from generate_series(${first}, ${last}) n) past
      join bench_conversations c on c.position = past.n % (select count(*) from bench_conversations)),
    new_steps as (
      insert into run_steps (${columns.run_steps.names}) select ${columns.run_steps.values}
      from p, run_steps t where t.run_id = '${templateId}' and p.n % ${DETAILS_INTERVAL} = 0),
    new_messages as (
      insert into messages (${columns.messages.names}) select ${columns.messages.values}
      from p, messages t where t.run_id = '${templateId}' and p.n % ${DETAILS_INTERVAL} = 0)
    insert into runs (${columns.runs.names}) select ${columns.runs.values} from p, runs t where t.id = '${templateId}'`
}

/** Lists all columns of a table and their values: an expression from `overrides`, or the column of the template row `t`. */
async function listColumns(database: pg.Client, table: string, overrides: Record<string, string>) {
  const { rows } = await database.query<{ name: string }>(
    `select attname as name from pg_attribute where attrelid = $1::regclass and attnum > 0 and not attisdropped order by attnum`,
    [table],
  )
  const names = rows.map(({ name }) => name)
  return { names: names.join(', '), values: names.map((name) => overrides[name] ?? `t.${name}`).join(', ') }
}
