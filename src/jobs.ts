import { purgeExpiredSessions } from './features/auth/purge-expired-sessions.ts'
import { sendPasswordReset } from './features/auth/send-password-reset.ts'
import { purgeEvents } from './features/events/purge-events.ts'
import type { Duty } from './platform/duties.ts'
import type { Tasks } from './platform/job-queue.ts'
import { HOUR } from './platform/time.ts'
import type { SystemScope } from './scope.ts'
import { purgeIdempotencyKeys } from './trpc/purge-idempotency-keys.ts'

/** Background work's table of contents: what a bell makes a worker do. */
export function tasksOf(system: SystemScope): Tasks {
  return {
    'send-password-reset': (payload) => sendPasswordReset(system, payload),
  }
}

/** What a worker does without being called. */
export function dutiesOf(system: SystemScope): Duty[] {
  return [
    { name: 'purge sessions', everyMs: HOUR, run: () => purgeExpiredSessions(system) },
    { name: 'purge events', everyMs: HOUR, run: () => purgeEvents(system) },
    { name: 'purge idempotency keys', everyMs: HOUR, run: () => purgeIdempotencyKeys(system) },
  ]
}
