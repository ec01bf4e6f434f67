import { sqlState, UNIQUE_VIOLATION } from './database.ts'
import { ConflictError } from '../errors.ts'

/**
 * The database decides whether a name is free: two callers who ask first and write then would both get it. `write` is
 * to run in a transaction of its own.
 * @throws ConflictError `name_taken`
 */
export async function toUniqueNameError<T>(noun: string, write: () => Promise<T>): Promise<T> {
  try {
    return await write()
  } catch (cause) {
    if (sqlState(cause) !== UNIQUE_VIOLATION) throw cause
    throw new ConflictError('name_taken', `There is a ${noun} of this name already. Choose another name`, undefined, {
      cause,
    })
  }
}
