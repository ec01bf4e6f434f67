import { sqlState, UNIQUE_VIOLATION } from './database.ts'
import { ConflictError } from '../errors.ts'
import { getField } from '../fields.ts'

/** The name of a key in the message of a distributed database, to which its nodes append the number of the shard. */
const SHARD_KEY = /"(?<key>\w+?)(?:_\d+)?"/

/** Finds the violated unique key, whose name begins with that of its table; undefined for other errors. */
export function findUniqueKey(error: unknown): string | undefined {
  if (sqlState(error) !== UNIQUE_VIOLATION || !(error instanceof Error)) return undefined
  const key = getField(error, 'constraint')
  // The coordinator of a distributed database passes on the message of a node, without the fields.
  return typeof key === 'string' ? key : SHARD_KEY.exec(error.message)?.groups?.['key']
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
