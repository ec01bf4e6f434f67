import { addMs, MINUTE } from '../../platform/time.ts'
import type { Scope } from '../../scope/scope.ts'
import { readAuditEvents } from './queries.ts'
import type { AuditEventFilters } from './schema.ts'

/** Longest time of an export. One that takes longer is broken off, and is continued with `until`. */
const EXPORT_MAX_MS = 10 * MINUTE

/** Returns audit events as lines of JSON, newest first. They are read as fast as the client takes them. */
export async function* exportAuditEvents(scope: Scope, filters: AuditEventFilters): AsyncGenerator<string> {
  const end = addMs(scope.now(), EXPORT_MAX_MS)
  for await (const events of readAuditEvents(scope, filters)) {
    if (scope.now() > end) throw new Error('The export of audit events took too long')
    if (events.length > 0) yield events.map((event) => `${JSON.stringify(event)}\n`).join('')
  }
}
