import { LRUCache } from 'lru-cache'
import { checkTenant, type TenantCheck } from './check-tenant.ts'

/** A value that a statement binds. Arrays are arrays of Postgres; JSON is bound as text. */
export type SqlValue =
  string | number | boolean | null | Date | Buffer | readonly (string | number | boolean | null | Date | Buffer)[]

/** A value or a composed part in the template of a statement. */
export type SqlPart = SqlValue | SqlFragment

/** A part of a statement with its values. It is composed into statements, and executed only as a part of them. */
export class SqlFragment {
  readonly strings: readonly string[]
  readonly values: readonly SqlPart[]

  constructor(strings: readonly string[], values: readonly SqlPart[]) {
    const missing = values.findIndex((value) => value === undefined)
    if (missing >= 0) throw new Error(`The value after "${strings[missing]}" is undefined. Bind null instead`)
    this.strings = strings
    this.values = values
  }
}

/** Builds a part of a statement: values are bound, and fragments are composed. */
export function sqlFragment(strings: TemplateStringsArray, ...values: SqlPart[]): SqlFragment {
  return new SqlFragment(strings, values)
}

/** Builds a part of a statement from a text of the code, such as the name of a column. Values must not be part of it. */
export function sqlText(text: string): SqlFragment {
  return new SqlFragment([text], [])
}

function isFragment(value: SqlPart): value is SqlFragment {
  return typeof value === 'object' && value !== null && 'strings' in value
}

/** Joins fragments by a text of SQL such as `, ` or ` and `. */
export function joinFragments(fragments: readonly SqlFragment[], separator: string): SqlFragment {
  if (fragments.length === 0) return new SqlFragment([''], [])
  return new SqlFragment(['', ...fragments.slice(1).map(() => separator), ''], fragments)
}

/** A statement whose text begins with its name in a comment, so that logs and `pg_stat_activity` show it. */
export type Statement = { name: string; text: string; values: SqlValue[] }

/** Part of the comment that begins statements on the rows of all tenants. */
export const ACROSS_TENANTS = '(all tenants)'

export function composeStatement(name: string, fragment: SqlFragment): Statement {
  const statement: Statement = { name, text: `/* ${name} */ `, values: [] }
  append(statement, fragment)
  return statement
}

function append(statement: Statement, { strings, values }: SqlFragment): void {
  statement.text += strings[0]
  for (const [index, value] of values.entries()) {
    if (isFragment(value)) append(statement, value)
    else statement.text += `$${statement.values.push(value)}`
    statement.text += strings[index + 1]
  }
}

/** Checked statements by their text. Values are bound, so there are few texts. */
const checks = new LRUCache<string, TenantCheck>({ max: 2000 })

function checkOnce(text: string): TenantCheck {
  const known = checks.get(text)
  if (known) return known
  const check = checkTenant(text)
  checks.set(text, check)
  return check
}

/** @throws Error if the statement touches rows of a tenant table without the condition that they are of this tenant */
export function assertNamesTenant({ name, text, values }: Statement, tenantId: string): void {
  const { problem, tenantParameters } = checkOnce(text)
  if (problem !== null) throw new Error(`The statement "${name}" ${problem}`)
  const wrong = tenantParameters.find((parameter) => values[parameter - 1] !== tenantId)
  if (wrong !== undefined) throw new Error(`The statement "${name}" binds another tenant as $${wrong}`)
}

/** @throws Error if the statement touches a tenant table */
export function assertNoTenantTable({ name, text }: Statement): void {
  const [table] = checkOnce(text).tables
  if (table === undefined) return
  throw new Error(`The statement "${name}" touches the tenant table ${table}. Execute it in the scope of a tenant`)
}
