import { ConfigError } from './platform/process/config-error.ts'
import { DatabaseUrlError } from './platform/database/database-url.ts'
import { EmbeddedPostgresError } from './platform/embedded-postgres/embedded-postgres-error.ts'
import { getField } from './platform/fields.ts'

/** Describes a failed start: a mistake of the operator in a sentence, anything else with its stack. */
export function describeStartError(error: unknown): string {
  const { message, stack } = error instanceof Error ? error : new Error(String(error))
  if (getField(error, 'code') === 'EADDRINUSE') return `${message}. Set PORT to a free port`
  if (getField(error, 'code') === 'ENOSPC') return `${message}. Free space on the disk of DATA_DIR`
  const isForOperator = [ConfigError, DatabaseUrlError, EmbeddedPostgresError].some((kind) => error instanceof kind)
  return isForOperator ? message : (stack ?? message)
}
