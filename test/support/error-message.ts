/** The message of the error that `attempt` has to end in. */
export async function errorMessage(attempt: Promise<unknown>): Promise<string> {
  const outcome = await attempt.then(
    () => undefined,
    (error: unknown) => error,
  )
  if (outcome instanceof Error) return outcome.message
  throw new Error('It was expected to be refused, and was not.')
}
