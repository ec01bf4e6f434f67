import { UnprocessableError } from '../../platform/errors.ts'
import { newId } from '../../platform/ids.ts'
import type { SystemScope } from '../../scope.ts'
import { createWorkspace } from '../workspaces/create-workspace.ts'
import { createSession } from './sessions/create-session.ts'
import type { SignedUp, SignUp, User } from './schema.ts'
import type { AuthContext } from './auth-context.ts'

/** A user, their first workspace and a session, or none of them. Signing up signs in. */
export async function signUp(visit: AuthContext, input: SignUp): Promise<SignedUp> {
  // Also for an address that is taken: the time it takes must not say so.
  const passwordHash = await visit.auth.passwords.hash(input.password)
  const entered = await createSession(visit, async (tx) => {
    const user = await createUser(tx, input, passwordHash)
    await createWorkspace(tx, { name: input.workspaceName ?? `${input.name}'s workspace`, ownerId: user.id })
    return user
  })
  return { token: null, ...entered }
}

/** Of sign-ups with one address the database lets one through; the others wait for it and then find it taken. */
async function createUser(tx: SystemScope, input: SignUp, passwordHash: string): Promise<User> {
  const { name, email, image = null } = input
  const now = tx.now()
  const id = newId()
  const created = await tx
    .db('users')
    .insert({ id, name, email, image, created_at: now, updated_at: now })
    .onConflict('email')
    .ignore()
    .returning('id')
  if (created.length === 0) {
    throw new UnprocessableError(
      'user_already_exists',
      'An account with this e-mail address already exists. Sign in, or reset its password',
    )
  }
  await tx.db('credentials').insert({ user_id: id, password_hash: passwordHash, updated_at: now })
  return { id, name, email, image, emailVerified: false, createdAt: now, updatedAt: now }
}
