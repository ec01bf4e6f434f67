import { z } from 'zod'
import { REPEAT_DAYS } from '../automation/deleted-message-ids.ts'

const DAYS_MAX = 3650

/** Days for which events are kept at most. */
export const EVENT_DAYS_MAX = 7

/** Days for which audit events are kept at most, and at least: an admin cannot remove recent ones. */
export const AUDIT_DAYS_MAX = 365
const AUDIT_DAYS_MIN = 90

function days(min: number, max: number, description: string) {
  const message = `must be ${min} to ${max} days, or null`
  return z
    .int()
    .min(min, message)
    .max(max, message)
    .nullable()
    .default(null)
    .meta({ description, examples: [Math.min(max, 365)] })
}

const REPEATS = `At least ${REPEAT_DAYS} days: until then what created them may be delivered again, and is recognized by them`

const fields = {
  messages: days(
    REPEAT_DAYS,
    DAYS_MAX,
    `Days after which messages are deleted with their statuses; null keeps them. ${REPEATS}`,
  ),
  runs: days(
    REPEAT_DAYS,
    DAYS_MAX,
    `Days after their end after which runs are deleted with their steps; null keeps them. ${REPEATS}`,
  ),
  messageStatuses: days(1, DAYS_MAX, 'Days after which the reported statuses of messages are deleted; null keeps them'),
  aiTranscripts: days(
    1,
    DAYS_MAX,
    'Days after which transcripts of AI steps of ended runs are deleted; null keeps them',
  ),
  events: days(
    1,
    EVENT_DAYS_MAX,
    `Days after which events are deleted; null means ${EVENT_DAYS_MAX}. A subscriber that was away for longer may miss events`,
  ),
  auditEvents: days(
    AUDIT_DAYS_MIN,
    AUDIT_DAYS_MAX,
    `Days after which audit events are deleted; null means ${AUDIT_DAYS_MAX}. Export them to keep them longer`,
  ),
}

export const Retention = z.object(fields).meta({ id: 'Retention' })
export type Retention = z.infer<typeof Retention>

export const PutRetention = z.strictObject(fields)
export type PutRetention = z.infer<typeof PutRetention>
