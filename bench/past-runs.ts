import pg from 'pg'

const CHUNK = 250_000
/** Of so many runs one has its steps and its answer, too: they are found by ids of their own, not by walking the past. */
const TOLD_EVERY = 10
const TABLES = ['runs', 'run_steps', 'messages']

/** Fills a database with runs of the past, each like the newest one that was completed. */
export async function insertPastRuns(adminUrl: string, count: number): Promise<void> {
  const database = new pg.Client({ connectionString: adminUrl })
  await database.connect()
  try {
    // Rows that are copies of right ones need not be checked one by one.
    await database.query(`set session_replication_role = replica; set synchronous_commit = off;
      set maintenance_work_mem = '1GB'; set work_mem = '256MB'`)
    const statement = await writingStatement(database)
    await database.query(
      `create table bench_people as select row_number() over (order by cv.id) - 1 as number, cv.tenant_id, cv.id as conversation_id,
         cv.contact_id, cv.channel_id, w.id as workflow_id
       from conversations cv join workflows w on w.tenant_id = cv.tenant_id`,
    )
    await database.query('analyze bench_people')
    const indexes = await dropIndexes(database)
    for (let first = 0; first < count; first += CHUNK) {
      await database.query(statement(first, Math.min(first + CHUNK, count) - 1, count))
    }
    for (const definition of indexes) await database.query(definition)
    await database.query('drop table bench_people')
    for (const table of TABLES) await database.query(`vacuum (analyze) ${table}`)
    await database.query('checkpoint')
  } finally {
    await database.end()
  }
}

/** Indexes that no constraint needs are built faster at the end. Answers how. */
async function dropIndexes(database: pg.Client): Promise<string[]> {
  const { rows } = await database.query<{ name: string; definition: string }>(
    `select indexname as name, indexdef as definition from pg_indexes
     where tablename = any($1) and indexname not in (select conname from pg_constraint)`,
    [TABLES],
  )
  for (const { name } of rows) await database.query(`drop index ${name}`)
  return rows.map(({ definition }) => definition)
}

/** The past is ninety days long, and evenly spread over the people. */
async function writingStatement(database: pg.Client): Promise<(first: number, last: number, count: number) => string> {
  const { rows } = await database.query<{ id: string }>(
    `select id from runs where status = 'completed' order by id desc limit 1`,
  )
  const like = rows[0]?.id
  const at = { created_at: 'p.at', updated_at: 'p.at', queued_at: 'p.at', started_at: 'p.at', finished_at: 'p.at' }
  const whose = { tenant_id: 'p.tenant_id', conversation_id: 'p.conversation_id', contact_id: 'p.contact_id' }
  const run = { ...at, ...whose, id: 'p.run_id', root_run_id: 'p.run_id', workflow_id: 'p.workflow_id' }
  const columns = {
    runs: await listOf(database, 'runs', { ...run, trigger_event_id: 'p.item_id' }),
    run_steps: await listOf(database, 'run_steps', {
      ...at,
      tenant_id: 'p.tenant_id',
      run_id: 'p.run_id',
      id: 'uuidv7(p.at - now())',
      message_id: 'case when t.message_id is not null then p.answer_id end',
    }),
    messages: await listOf(database, 'messages', {
      ...at,
      ...whose,
      channel_id: 'p.channel_id',
      run_id: 'p.run_id',
      id: 'p.answer_id',
    }),
  }
  return (first, last, count) => `
    with p as materialized (
      select n, at, uuidv7(at - now()) as run_id, uuidv7(at - now()) as item_id, uuidv7(at - now()) as answer_id, people.*
      from (select n, now() - interval '90 days' * (1 - n::float / ${count}) - interval '1 hour' as at
        from generate_series(${first}, ${last}) n) past
      join bench_people people on people.number = past.n % (select count(*) from bench_people)),
    told as (
      insert into run_steps (${columns.run_steps.names}) select ${columns.run_steps.values}
      from p, run_steps t where t.run_id = '${like}' and p.n % ${TOLD_EVERY} = 0),
    said as (
      insert into messages (${columns.messages.names}) select ${columns.messages.values}
      from p, messages t where t.run_id = '${like}' and p.n % ${TOLD_EVERY} = 0)
    insert into runs (${columns.runs.names}) select ${columns.runs.values} from p, runs t where t.id = '${like}'`
}

/** All columns of a table, as they are in the row `t` but for those that differ. */
async function listOf(database: pg.Client, table: string, differing: Record<string, string>) {
  const { rows } = await database.query<{ name: string }>(
    `select attname as name from pg_attribute where attrelid = $1::regclass and attnum > 0 and not attisdropped order by attnum`,
    [table],
  )
  const names = rows.map(({ name }) => name)
  return { names: names.join(', '), values: names.map((name) => differing[name] ?? `t.${name}`).join(', ') }
}
