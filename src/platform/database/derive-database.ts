import type { Database } from './database.ts'

/** The members of a knex client that hand out connections. */
export type Connections = {
  acquireConnection(): Promise<object>
  releaseConnection(connection: object): Promise<void>
}

/** Members that a derived database may have of its own. */
export type Members = Connections & {
  /** Sends a statement of the query builder. */
  query?: (connection: object, statement: unknown) => Promise<unknown>
  transaction?: <T>(work: (tx: Database) => Promise<T>) => Promise<T>
}

/**
 * Derives a database that differs only in where its connections come from. knex creates one for each transaction in a
 * similar way, but its constructor is too slow for each request; a derived one inherits everything from the original.
 */
export function deriveDatabase(db: Database, { transaction, ...members }: Members): Database {
  const context: Pick<Database, 'queryBuilder'> = Object.assign(Object.create(Reflect.get(db, 'context')), {
    client: Object.assign(Object.create(db.client), members),
    ...(transaction ? { transaction } : {}),
  })
  const createBuilder = (table?: string, options?: object) => {
    const builder = context.queryBuilder()
    return table === undefined ? builder : builder.table(table, options)
  }
  const derived: Database = Object.setPrototypeOf(createBuilder, db)
  return Object.assign(derived, { context })
}
