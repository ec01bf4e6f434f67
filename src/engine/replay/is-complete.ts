/** False for a recorded payload that was truncated or redacted. */
export function isComplete(recorded: unknown): boolean {
  const text = JSON.stringify(recorded) ?? ''
  return !text.includes('[redacted]') && !text.includes('"$truncated":true')
}
