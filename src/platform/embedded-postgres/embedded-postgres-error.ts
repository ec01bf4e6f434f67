import { getField } from '../fields.ts'

/** The embedded database cannot be started. The message tells the operator what to change. */
export class EmbeddedPostgresError extends Error {
  override name = 'EmbeddedPostgresError'
}

/** Returns the code of a system error (`ENOENT`) or of a server error (`28P01`). */
export function errorCode(error: unknown): string | undefined {
  const code = getField(error, 'code')
  return typeof code === 'string' ? code : undefined
}
