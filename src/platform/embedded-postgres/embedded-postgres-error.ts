/** The embedded database cannot start here. The message tells the operator what to change. */
export class EmbeddedPostgresError extends Error {
  override name = 'EmbeddedPostgresError'
}

/** `ENOENT` and its kind from the system, `28P01` and its kind from the server. */
export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}
