import { loggableNetwork } from '../../platform/client-address.ts'
import { type AppError, LimitExceededError } from '../../platform/errors.ts'
import type { Guess } from '../../platform/rate-limit/lockout.ts'
import type { AuthContext } from './auth-context.ts'

type Counted = {
  guess: Guess
  /** The subject of the log line about a failure. */
  operation: 'sign-in' | 'password change' | 'two-factor change' | 'second factor'
  userId: string | null
  /** The reason in the log line of a wrong guess. */
  reason: string
  createError: () => AppError
}

/**
 * Counts a guess of a secret towards the lockout, and returns what it gives access to. It is reserved before the secret is
 * checked, so that concurrent guesses are all counted. `check` returns undefined for a wrong one.
 * @throws LimitExceededError `account_locked`, or what `createError` returns for a wrong guess
 */
export async function countGuess<T>(
  context: AuthContext,
  { guess, operation, userId, reason, createError }: Counted,
  check: () => Promise<T | undefined>,
): Promise<T> {
  // Logs neither the e-mail address, which may be somebody else's password or name, nor the exact network address.
  const logFailure = (failure: { reason: string }) => {
    const network = loggableNetwork(context.client.addressKey)
    context.log.warn({ event: 'guess_failed', userId, ...failure, network }, `${operation} failed`)
  }
  const reservation = await context.auth.lockout.reserve(guess)
  if (reservation.locked) {
    logFailure({ reason: 'too_many_attempts' })
    const message = 'Too many failed sign-in attempts, please try again later'
    throw new LimitExceededError('account_locked', message, reservation.retryAfterSeconds)
  }
  const { attempt } = reservation
  const result = await check().catch(async (error: unknown) => {
    await attempt.release()
    throw error
  })
  if (result === undefined) {
    await attempt.fail()
    logFailure({ reason })
    throw createError()
  }
  await attempt.succeed()
  return result
}
