/** False of a recorded payload that was cut, or from which something was left out. */
export function isComplete(recorded: unknown): boolean {
  const text = JSON.stringify(recorded) ?? ''
  return !text.includes('[redacted]') && !text.includes('"$truncated":true')
}
