import { snakeCaseMappers } from 'objection'
import { joinFragments, type SqlFragment, sqlFragment, sqlText, type SqlValue } from './statement.ts'

const { format: toSnakeCase } = snakeCaseMappers()
const NAME = /^[a-z][a-z0-9_]*$/

/** Rows of a statement whose values are bound one by one. A larger number is one JSON text, which is faster to read. */
const BOUND_MAX = 8

/**
 * The tables whose rows may be bound one by one, with their columns that contain JSON. A distributed database sends such
 * rows to their node in one step, and those that it has to read from a JSON text in two phases.
 */
export const BOUND_TABLES: Readonly<Record<string, readonly string[]>> = {
  channel_webhooks: ['outcome', 'error'],
  contact_identities: [],
  contact_tags: [],
  contacts: ['fields'],
  conversations: ['last_message'],
  event_payloads: ['payload'],
  events: ['data'],
  external_calls: ['request'],
  mailbox_items: ['payload'],
  messages: ['sender', 'content', 'error'],
  outbox: [],
  provider_message_ids: [],
  run_steps: ['input', 'output', 'error'],
  run_waits: [],
  runs: ['trigger', 'state', 'input', 'output', 'error', 'started_by'],
  tags: [],
  trigger_evaluations: ['event', 'evaluations'],
}

/** Returns the part of a statement that inserts rows of one tenant. Columns that no row has get their defaults. */
export function insertRowsSql(table: string, tenantId: string, rows: readonly object[]): SqlFragment {
  const records = rows.map((row): Record<string, unknown> => toSnakeCase({ ...row }))
  const columns = [...new Set(records.flatMap((record) => Object.keys(record)))].filter((name) => name !== 'tenant_id')
  const list = sqlText(columns.map(quoteName).join(', '))
  const name = sqlText(quoteName(table))
  const jsonColumns = BOUND_TABLES[table]
  if (jsonColumns && rows.length <= BOUND_MAX) {
    const bound = records.map((record) => {
      const values = columns.map((column) => toBound(record[column], jsonColumns.includes(column)))
      return sqlFragment`(${joinFragments([tenantId, ...values].map(bind), ', ')})`
    })
    return sqlFragment`insert into ${name} (tenant_id, ${list}) values ${joinFragments(bound, ', ')}`
  }
  const json = JSON.stringify(records.map(withHexBytes))
  return sqlFragment`insert into ${name} (tenant_id, ${list})
    select ${tenantId}::uuid, ${list} from jsonb_populate_recordset(null::${name}, ${json}::jsonb)`
}

function bind(value: SqlValue): SqlFragment {
  return sqlFragment`${value}`
}

function toBound(value: unknown, isJson: boolean): SqlValue {
  if (value === null || value === undefined) return null
  return isJson ? JSON.stringify(value) : (value as SqlValue)
}

/** Converts bytes to the text that PostgreSQL reads as bytes. */
function withHexBytes(record: Record<string, unknown>): Record<string, unknown> {
  const entries = Object.entries(record).map(([name, value]): [string, unknown] =>
    Buffer.isBuffer(value) ? [name, `\\x${value.toString('hex')}`] : [name, value],
  )
  return Object.fromEntries(entries)
}

function quoteName(name: string): string {
  if (!NAME.test(name)) throw new Error(`${JSON.stringify(name)} is not the name of a column`)
  return `"${name}"`
}
