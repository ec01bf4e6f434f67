import { UniqueViolationError } from 'objection'
import { ConflictError } from './errors.ts'

/**
 * The database decides whether a name is free: two callers who ask first and write then would both get it. `write` runs
 * in a transaction of its own, so that an outer one survives the refusal.
 * @throws ConflictError `name_taken` when `constraint` is the one that was violated
 */
export async function refuseTakenName<T>(constraint: string, noun: string, write: () => Promise<T>): Promise<T> {
  try {
    return await write()
  } catch (error) {
    if (!(error instanceof UniqueViolationError) || error.constraint !== constraint) throw error
    throw new ConflictError('name_taken', `Another ${noun} already has this name. Choose another name`)
  }
}
