import { ConflictError } from '../../platform/errors.ts'
import { newId } from '../../platform/ids.ts'
import type { SystemScope } from '../../scope/system-scope.ts'
import { createWorkspace } from './workspaces.ts'
import { assertStrongPassword } from './assert-strong-password.ts'
import { createSession, type SessionContext } from './sessions/create-session.ts'
import type { SignedUp, SignUp, User } from './schema.ts'
import type { AuthContext } from './auth-context.ts'

type NewUser = Pick<SignUp, 'name' | 'email' | 'image'>

/** Creates a user, their first workspace and a session, or none of them. */
export async function signUp(context: AuthContext, input: SignUp): Promise<SignedUp> {
  await assertStrongPassword(input.password, input, 'password')
  // Hashes for an existing address too, so that the response time does not reveal it.
  const passwordHash = await context.auth.passwords.hash(input.password)
  return { token: null, ...(await createAccount(context, input, passwordHash)) }
}

/** Creates a user, their first workspace and a session in one transaction. */
export function createAccount(
  context: SessionContext,
  { workspaceName, ...user }: NewUser & Pick<SignUp, 'workspaceName'>,
  passwordHash: string,
): ReturnType<typeof createSession> {
  return createSession(context, async (tx) => {
    const created = await createUser(tx, user, passwordHash)
    await createWorkspace(tx, { name: workspaceName ?? `${user.name}'s workspace`, ownerId: created.id })
    return created
  })
}

/** Creates the user. Of concurrent sign-ups with one address the database accepts one; the others fail. */
async function createUser(tx: SystemScope, input: NewUser, passwordHash: string): Promise<User> {
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
    throw new ConflictError(
      'user_already_exists',
      'An account with this email address already exists. Sign in, or reset its password',
    )
  }
  await tx.db('credentials').insert({ user_id: id, password_hash: passwordHash, updated_at: now })
  return { id, name, email, image, emailVerified: false, twoFactorEnabled: false, createdAt: now, updatedAt: now }
}
