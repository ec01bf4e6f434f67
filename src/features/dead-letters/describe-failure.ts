import { ZodError } from 'zod'
import { CorruptRunError } from '../../engine/model/corrupt-run-error.ts'
import { sqlState } from '../../platform/database/database.ts'
import { AppError } from '../../platform/errors.ts'

export type Failure = { name: string; code: string; message: string }

const PATHS_MAX = 3

/**
 * Describes why an item could not be processed. Texts of unknown errors are left out, because they may quote data of the
 * customer or SQL; the log has them.
 */
export function describeFailure(error: unknown): Failure {
  if (error instanceof CorruptRunError) return describeFailure(error.cause)
  const name = error instanceof Error ? error.name : typeof error
  const state = sqlState(error)
  if (state !== undefined) return { name, code: state, message: `The database rejected a change (SQLSTATE ${state})` }
  if (error instanceof ZodError) return { name, code: 'invalid_item', message: describePaths(error) }
  if (error instanceof AppError) return { name, code: error.code, message: error.message }
  return { name, code: 'internal', message: 'The item could not be processed because of an internal error' }
}

function describePaths({ issues }: ZodError): string {
  const paths = issues.slice(0, PATHS_MAX).map(({ path }) => path.join('.'))
  return `The item does not have the expected form: ${paths.join(', ')}`
}
