import type { Database } from '../database.ts'

/** The members of a knex client that hand out connections. */
export type Connections = {
  acquireConnection(): Promise<object>
  releaseConnection(connection: object): Promise<void>
}

/**
 * Derives a database that differs only in where its connections come from. knex creates one for each transaction in a
 * similar way, but its constructor is too slow for each request; a derived one inherits everything from the original.
 */
export function deriveDatabase(db: Database, connections: Connections): Database {
  const context: Pick<Database, 'queryBuilder'> = Object.assign(Object.create(Reflect.get(db, 'context')), {
    client: Object.assign(Object.create(db.client), connections),
  })
  const createBuilder = (table?: string, options?: object) => {
    const builder = context.queryBuilder()
    return table === undefined ? builder : builder.table(table, options)
  }
  const derived: Database = Object.setPrototypeOf(createBuilder, db)
  return Object.assign(derived, { context })
}
