import type { Database } from '../../platform/database/database.ts'
import { createSqlTag } from '../../platform/database/sql.ts'
import { type Check, counted, type Finding, ok, one, problem, type Subject, warning } from './check.ts'

/** A node may have this many times the shards of another one. */
const SHARDS_RATIO_MAX = 1.5

/** Checks of a distributed database. Others have nothing to check. */
export const CITUS_CHECKS: Check[] = [
  { name: 'citus-nodes', run: onCitus(checkNodes) },
  { name: 'citus-settings', run: onCitus(checkSettings) },
  { name: 'citus-shards', run: onCitus(checkShards) },
  { name: 'citus-transactions', run: onCitus(checkTransactions) },
]

function onCitus(run: (db: Database) => Promise<Finding>): Check['run'] {
  return async ({ db }: Subject) => {
    const found = await createSqlTag(db, 'findCitus')`select from pg_extension where extname = 'citus'`
    return found.length === 0 ? undefined : run(db)
  }
}

type Answer = { node: string; success: boolean; result: string }

/** Asks each node for one value. Those that do not answer are among the answers, without success. */
function askNodes(db: Database, name: string, command: string): Promise<Answer[]> {
  return createSqlTag<Answer>(db, name)`
    select n.nodename || ':' || n.nodeport as node, success, result
    from run_command_on_all_nodes(${command}, give_warning_for_connection_errors => true) answers
    join pg_dist_node n using (nodeid) order by 1`
}

async function checkNodes(db: Database): Promise<Finding> {
  const answers = await askNodes(db, 'readNodeVersions', 'select citus_version()')
  const away = answers.filter(({ success }) => !success).map(({ node }) => node)
  if (away.length > 0) return problem(`Nodes do not answer: ${away.join(', ')}. Their workspaces are not served`)
  const versions = new Set(answers.map(({ result }) => /^Citus [\d.]+/.exec(result)?.[0] ?? result))
  if (versions.size > 1) return problem(`Nodes have several versions: ${[...versions].join(', ')}. Upgrade all to one`)
  return ok(`${counted(answers.length, 'node')} of ${[...versions].join()} answer`)
}

async function checkSettings(db: Database): Promise<Finding> {
  const [levels, { pool }] = await Promise.all([
    askNodes(db, 'readWalLevels', `select current_setting('wal_level')`),
    one(
      createSqlTag<{ pool: string }>(db, 'readPoolSize')`
        select current_setting('citus.max_adaptive_executor_pool_size') as pool`,
    ),
  ])
  const low = levels.filter(({ success, result }) => success && result !== 'logical').map(({ node }) => node)
  const advice = [
    ...(low.length > 0 ? [`Shards cannot be moved: set wal_level = logical on ${low.join(', ')} and restart`] : []),
    ...(pool === '1' ? [] : [`Idle workers cost much: set citus.max_adaptive_executor_pool_size = 1 (it is ${pool})`]),
  ]
  return advice.length > 0 ? warning(advice.join('. ')) : ok('The settings of Citus are those of docs/operations.md')
}

async function checkShards(db: Database): Promise<Finding> {
  const nodes = await createSqlTag<{ node: string; shards: number }>(db, 'countShards')`
    select n.nodename || ':' || n.nodeport as node, count(s.shardid)::int as shards
    from pg_dist_node n left join citus_shards s
      on s.nodename = n.nodename and s.nodeport = n.nodeport and s.table_name = 'contacts'::regclass
    where n.shouldhaveshards and n.noderole = 'primary' group by 1 order by 1`
  const numbers = nodes.map(({ shards }) => shards)
  const list = nodes.map(({ node, shards }) => `${node} ${shards}`).join(', ')
  if (Math.max(...numbers) === 0) return warning('No table is distributed. Run "npm run distribute"')
  if (Math.max(...numbers) > SHARDS_RATIO_MAX * Math.min(...numbers) && Math.max(...numbers) - Math.min(...numbers) > 1)
    return warning(`Shards are not balanced: ${list}. Execute "select citus_rebalance_start()"`)
  return ok(`Shards by node: ${list}`)
}

async function checkTransactions(db: Database): Promise<Finding> {
  const command = `select count(*) from pg_prepared_xacts where prepared < now() - interval '5 minutes'`
  const answers = await askNodes(db, 'countPreparedTransactions', command)
  const left = answers.filter(({ success, result }) => success && result !== '0')
  if (left.length === 0) return ok('No prepared transaction is left')
  const list = left.map(({ node, result }) => `${node} ${result}`).join(', ')
  return problem(
    `Prepared transactions are left and lock rows: ${list}. Execute "select recover_prepared_transactions()"`,
  )
}
