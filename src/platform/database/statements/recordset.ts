import { snakeCaseMappers } from 'objection'
import { type SqlFragment, sqlFragment, sqlText } from './statement.ts'

const { format: toSnakeCase } = snakeCaseMappers()
const NAME = /^[a-z][a-z0-9_]*$/

/** Returns the columns of rows but for the tenant, as a list. Keys are names of properties or columns of the code. */
function listColumns(rows: readonly object[]): SqlFragment {
  const columns = new Set(rows.flatMap((row) => Object.keys(toSnakeCase({ ...row }))))
  columns.delete('tenant_id')
  const names = [...columns].map(quoteName)
  return sqlText(names.join(', '))
}

/** Returns the part of a statement that inserts rows of one tenant. Columns that no row has get their defaults. */
export function insertRowsSql(table: string, tenantId: string, rows: readonly object[]): SqlFragment {
  const columns = listColumns(rows)
  const name = sqlText(quoteName(table))
  const json = JSON.stringify(rows.map((row): unknown => toSnakeCase(row)))
  return sqlFragment`insert into ${name} (tenant_id, ${columns})
    select ${tenantId}::uuid, ${columns} from jsonb_populate_recordset(null::${name}, ${json}::jsonb)`
}

function quoteName(name: string): string {
  if (!NAME.test(name)) throw new Error(`${JSON.stringify(name)} is not the name of a column`)
  return `"${name}"`
}
