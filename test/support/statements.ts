import { after } from 'mocha'
import pg from 'pg'
import { NodeClient } from '../../src/platform/database/servers/node-client.ts'
import { ACROSS_TENANTS } from '../../src/platform/database/statements/statement.ts'
import { checkTenant } from '../../src/platform/database/statements/check-tenant.ts'
import { getField } from '../../src/platform/fields.ts'

/** Names of the connections of the application. The other connections are those of tests, the queue and others. */
const APPLICATION = /^parley (?:requests|webhooks|engine|background)$/
const MULTI_TASK = /multi-task query/
const SENT_TO_NODE = /^Subplan \S+ will be sent to (?<node>\S+)/
/** Statements whose parts share rows, which Citus sends to all nodes: they work only while every node does. */
const SHARED_ROWS = /\/\* (?:rollUpCounts|writeConsents) /
const STATEMENT = /^(?:\/\*.*?\*\/)?\s*(?:select|with|insert|update|delete|values)\b/i

/** The workspace in a statement to the node of its shard, in place of a parameter. */
const NAMED_TENANT = /\btenant_id = '[0-9a-f-]{36}'/g

/** Statements of the application that lack the tenant, or that a distributed database sends to several nodes. */
const violations = new Map<string, string>()
const checked = new Map<string, string | null>()
const observed = new WeakSet<object>()

/** A statement with a name is prepared: it may be executed with a plan for all values. */
export type RecordedStatement = { text: string; values: unknown; name: unknown }
let recorded: RecordedStatement[] | undefined

/** Returns the statements that the application executes while `work` runs. */
export async function recordStatements(work: () => Promise<unknown>): Promise<RecordedStatement[]> {
  const statements: RecordedStatement[] = []
  recorded = statements
  try {
    await work()
  } finally {
    recorded = undefined
  }
  return statements.filter(({ text }) => STATEMENT.test(text))
}

const { query } = pg.Client.prototype

/** Checks every statement of the application, those of models included, before it is sent. */
Reflect.set(pg.Client.prototype, 'query', function queryChecked(this: pg.Client, ...args: unknown[]): unknown {
  if (APPLICATION.test(String(getField(getField(this, 'connectionParameters'), 'application_name')))) {
    observeNotices(this)
    const [config] = args
    const text = typeof config === 'string' ? config : getField(config, 'text')
    const problem = typeof text === 'string' ? findProblem(bindTenant(this, text)) : null
    if (problem !== null) throw new Error(problem)
    if (typeof text === 'string') {
      recorded?.push({ text, values: getField(config, 'values'), name: getField(config, 'name') })
    }
  }
  return Reflect.apply(query, this, args)
})

function bindTenant(client: pg.Client, text: string): string {
  return client instanceof NodeClient ? text.replace(NAMED_TENANT, 'tenant_id = $1') : text
}

function findProblem(text: string): string | null {
  const known = checked.get(text)
  if (known !== undefined) return known
  const isExempt = !STATEMENT.test(text) || text.includes(ACROSS_TENANTS)
  const { problem, tables } = isExempt ? { problem: null, tables: [] } : checkTenant(text)
  const found = problem !== null && tables.length > 0 ? `A statement ${problem}: ${text}` : null
  checked.set(text, found)
  if (found !== null) violations.set(text, found)
  return found
}

/** A distributed database reports statements of more than one task, and the nodes to which it sends rows of a statement. */
function observeNotices(client: pg.Client): void {
  if (observed.has(client)) return
  observed.add(client)
  let last: unknown
  let nodes = new Set<string>()
  client.on('notice', ({ message = '' }) => {
    const query = getField(client, '_activeQuery')
    const text = String(getField(query, 'text'))
    if (text.includes(ACROSS_TENANTS)) return
    if (MULTI_TASK.test(message)) violations.set(text, `A statement has several tasks: ${text}`)
    const node = SENT_TO_NODE.exec(message)?.groups?.['node']
    if (node === undefined || SHARED_ROWS.test(text)) return
    if (query !== last) nodes = new Set()
    last = query
    if (nodes.add(node).size > 1) violations.set(text, `A statement sends rows to nodes that do not need them: ${text}`)
  })
}

after('every statement of the application names the tenant for each tenant table', () => {
  if (violations.size > 0) throw new Error(`${violations.size} statements\n${[...violations.values()].join('\n\n')}`)
})
