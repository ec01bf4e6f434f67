/** Returns the message of the error that `attempt` rejects with; fails if it resolves. */
export async function errorMessage(attempt: Promise<unknown>): Promise<string> {
  const outcome = await attempt.then(
    () => undefined,
    (error: unknown) => error,
  )
  if (outcome instanceof Error) return outcome.message
  throw new Error('The attempt was expected to be rejected, but it succeeded.')
}
