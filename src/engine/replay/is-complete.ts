import { REDACTED } from '../../platform/security/redact-texts.ts'

/** Returns false for a recorded payload that was truncated or redacted. */
export function isComplete(recorded: unknown): boolean {
  const text = JSON.stringify(recorded) ?? ''
  return !text.includes(REDACTED) && !text.includes('"$truncated":true')
}
