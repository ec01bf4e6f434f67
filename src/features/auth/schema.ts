import { z } from 'zod'
import { ROLES } from '../../scope/dependencies.ts'
import { id, line, timestamp } from '../../trpc/schemas.ts'

/** Fields that the client of better-auth may send and that have no effect here. */
const tolerated = {
  callbackURL: z.string().optional().meta({ description: 'Accepted and ignored' }),
  rememberMe: z.boolean().optional().meta({ description: 'Accepted and ignored: every session lasts 7 days' }),
}

const EMAIL = 'must be an email address'

/** An address, in lower case. */
export const email = z
  .string(EMAIL)
  .trim()
  .toLowerCase()
  .max(254, EMAIL)
  .check(z.email(EMAIL))
  .meta({ examples: ['ada@parley.example'] })

const PASSWORD_MAX = 128

/** Limited before anything is computed from it. Never trimmed, as a space may be part of it. */
export const password = z
  .string()
  .max(PASSWORD_MAX, `must have at most ${PASSWORD_MAX} characters`)
  .refine((value) => value.isWellFormed() && !value.includes('\u0000'), 'contains invalid characters')

const newPassword = password.normalize('NFKC').min(8, 'must have at least 8 characters')

const name = line(120)

export const User = z
  .object({
    id,
    email: z.string(),
    name: z.string(),
    image: z.string().nullable(),
    emailVerified: z.boolean().meta({
      description:
        'True once a token that was emailed to the address was used: that of an invitation or a password reset',
    }),
    twoFactorEnabled: z.boolean().meta({ description: 'True if signing in needs a code' }),
    createdAt: timestamp,
    updatedAt: timestamp,
  })
  .meta({ id: 'User' })
export type User = z.infer<typeof User>

const workspaces = z
  .array(z.object({ id, name: z.string(), role: z.enum(ROLES) }).meta({ id: 'WorkspaceOfUser' }))
  .meta({ description: 'The workspaces of the user. Send the id of one in the x-tenant-id header' })

const token = z.null().meta({ description: 'Always null: the token is sent in the cookie only' })

const image = z
  .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
  .max(2048, 'must have at most 2048 characters')

export const SignUp = z.strictObject({
  name,
  email,
  password: newPassword,
  workspaceName: name.optional().meta({ description: 'Name of the first workspace; default "<name>\'s workspace"' }),
  image: image.nullish(),
  ...tolerated,
})
export type SignUp = z.infer<typeof SignUp>

export const SignedUp = z.object({ token, user: User, workspaces }).meta({ id: 'SignedUp' })
export type SignedUp = z.infer<typeof SignedUp>

export const SignIn = z.strictObject({ email, password, ...tolerated })
export type SignIn = z.infer<typeof SignIn>

export const SignedIn = z
  .object({ redirect: z.literal(false), token, url: z.null(), user: User, workspaces })
  .meta({ id: 'SignedIn' })
export type SignedIn = z.infer<typeof SignedIn>

/** The password is right, and there is no session yet. */
export const TwoFactorRequired = z
  .object({ twoFactorRedirect: z.literal(true), twoFactorMethods: z.array(z.literal('totp')) })
  .meta({ id: 'TwoFactorRequired' })
export type TwoFactorRequired = z.infer<typeof TwoFactorRequired>

export const SignOut = z
  .strictObject({
    callbackURL: tolerated.callbackURL,
    disableRedirect: z.boolean().optional().meta({ description: 'Accepted and ignored' }),
    state: z.string().optional().meta({ description: 'Accepted and ignored' }),
  })
  .optional()

export const SignedOut = z.object({ success: z.literal(true) }).meta({ description: 'The session has ended' })
export type SignedOut = z.infer<typeof SignedOut>

const session = {
  id,
  userId: id,
  createdAt: timestamp,
  expiresAt: timestamp,
  ipAddress: z.string().nullable(),
  userAgent: z.string().nullable(),
}

export const CurrentSession = z
  .object({
    session: z.object(session),
    user: User,
    workspaces,
  })
  .meta({ id: 'CurrentSession' })
export type CurrentSession = z.infer<typeof CurrentSession>

export const redirectTo = z.string().max(2048, 'must have at most 2048 characters').optional().meta({
  description:
    'The page that the email links to, on one of APP_ORIGINS or without that setting on the server itself; a path alone is one of the first origin. The token is added to its query',
})

export const RequestPasswordReset = z.strictObject({
  email,
  redirectTo,
})
export type RequestPasswordReset = z.infer<typeof RequestPasswordReset>

export const PasswordResetRequested = z
  .object({ status: z.literal(true), message: z.string() })
  .meta({ description: 'A link is emailed if the account exists' })
export type PasswordResetRequested = z.infer<typeof PasswordResetRequested>

export const ResetPassword = z.strictObject({ token: z.string().min(1, 'must not be empty').max(256), newPassword })
export type ResetPassword = z.infer<typeof ResetPassword>

export const Done = z.object({ status: z.literal(true) }).meta({ description: 'The change is made' })
export type Done = z.infer<typeof Done>

export const OwnSession = z
  .object({
    ...session,
    token: id.meta({
      description: 'The `id`, by which clients of better-auth name the session; never its secret token',
      examples: ['0199a7a0-0000-7000-8000-000000000001'],
    }),
    updatedAt: timestamp.meta({ description: 'The time at which the token was issued' }),
  })
  .meta({ id: 'OwnSession' })
export type OwnSession = z.infer<typeof OwnSession>

export const RevokeSession = z
  .strictObject({
    token: z.string().max(256).optional().meta({ description: 'The `token` of a listed session, which is its ID' }),
    id: z.string().max(256).optional().meta({ description: 'The same' }),
  })
  .refine(({ token: value, id: sessionId }) => (value === undefined) !== (sessionId === undefined), {
    message: 'is required, unless there is an id. Leave one of them out',
    path: ['token'],
  })
  .meta({ oneOf: [{ required: ['token'] }, { required: ['id'] }] })
export type RevokeSession = z.infer<typeof RevokeSession>

export const ChangePassword = z.strictObject({
  currentPassword: password,
  newPassword,
  revokeOtherSessions: z.boolean().optional().meta({ description: 'Ends all sessions but that of the request' }),
})
export type ChangePassword = z.infer<typeof ChangePassword>

export const PasswordChanged = z.object({ token, user: User }).meta({ description: 'The user with the new password' })
export type PasswordChanged = z.infer<typeof PasswordChanged>

export const UpdateUser = z.strictObject({ name: name.optional(), image: image.nullish() })
export type UpdateUser = z.infer<typeof UpdateUser>
