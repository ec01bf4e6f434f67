import { UniqueViolationError } from 'objection'
import { sqlState, UNIQUE_VIOLATION } from './database.ts'
import { ConflictError } from '../errors.ts'

/** The number of the part of a distributed table, which its nodes append to the names of tables and keys. */
const SHARD = /_\d+$/

/** Finds the table and the key of a unique violation; undefined for other errors. */
export function findUniqueViolation(error: unknown): { table: string; key: string } | undefined {
  if (!(error instanceof UniqueViolationError)) return undefined
  return { table: error.table.replace(SHARD, ''), key: error.constraint.replace(SHARD, '') }
}

/**
 * Converts a unique violation of `write` to an error for the caller. The database decides if a name is free, because two
 * callers that check first would both write. `write` must run in its own transaction.
 * @throws ConflictError `name_taken`
 */
export async function toUniqueNameError<T>(noun: string, write: () => Promise<T>): Promise<T> {
  try {
    return await write()
  } catch (cause) {
    if (sqlState(cause) !== UNIQUE_VIOLATION) throw cause
    throw new ConflictError('name_taken', `A ${noun} with this name already exists. Choose another name`, undefined, {
      cause,
    })
  }
}
