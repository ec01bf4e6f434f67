import { z } from 'zod'
import { id, timestamp, text } from '../../trpc/schemas.ts'

/** Fields that the client of better-auth may send and that have no effect here. */
const tolerated = {
  callbackURL: z.string().optional().meta({ description: 'Accepted and ignored' }),
  rememberMe: z.boolean().optional().meta({ description: 'Accepted and ignored: every session lasts 7 days' }),
}

const EMAIL = 'must be an email address'

const email = z
  .string(EMAIL)
  .trim()
  .toLowerCase()
  .max(254, EMAIL)
  .check(z.email(EMAIL))
  .meta({ examples: ['ada@parley.example'] })

const PASSWORD_MAX = 128

/** Limited before anything is computed from it. Never trimmed, as a space may be part of it. */
const password = z
  .string()
  .max(PASSWORD_MAX, `must have at most ${PASSWORD_MAX} characters`)
  .refine((value) => value.isWellFormed() && !value.includes('\u0000'), 'contains invalid characters')

const newPassword = password.normalize('NFKC').min(8, 'must have at least 8 characters')

/**
 * Names are written into emails, where a line break would begin another line. Without `\p{Cc}`: validators of the OpenAPI
 * document read patterns without the flag `u`.
 */
const NO_CONTROLS = /^[^\u0000-\u001f\u007f-\u009f]*$/ // oxlint-disable-line no-control-regex -- they are rejected
/** Not in the pattern: generators of clients print patterns as source, in which these end the line. */
const LINE_SEPARATOR = /[\u2028\u2029]/
const NAME_PROBLEM = 'must not contain line breaks or control characters'
const name = text(120)
  .regex(NO_CONTROLS, NAME_PROBLEM)
  .refine((value) => !LINE_SEPARATOR.test(value), NAME_PROBLEM)

export const User = z
  .object({
    id,
    email: z.string(),
    name: z.string(),
    image: z.string().nullable(),
    emailVerified: z.boolean(),
    createdAt: timestamp,
    updatedAt: timestamp,
  })
  .meta({ id: 'User' })
export type User = z.infer<typeof User>

const workspaces = z
  .array(z.object({ id, name: z.string(), role: z.enum(['owner', 'admin', 'agent', 'viewer']) }))
  .meta({ description: 'The workspaces of the user. Send the id of one in the x-tenant-id header' })

const token = z.null().meta({ description: 'Always null: the token is sent in the cookie only' })

export const SignUp = z.strictObject({
  name,
  email,
  password: newPassword,
  workspaceName: name.optional().meta({ description: 'Name of the first workspace; default "<name>\'s workspace"' }),
  image: z
    .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
    .max(2048, 'must have at most 2048 characters')
    .nullish(),
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

export const SignOut = z
  .strictObject({
    callbackURL: tolerated.callbackURL,
    disableRedirect: z.boolean().optional().meta({ description: 'Accepted and ignored' }),
    state: z.string().optional().meta({ description: 'Accepted and ignored' }),
  })
  .optional()

export const SignedOut = z.object({ success: z.literal(true) })
export type SignedOut = z.infer<typeof SignedOut>

export const CurrentSession = z
  .object({
    session: z.object({
      id,
      userId: id,
      createdAt: timestamp,
      expiresAt: timestamp,
      ipAddress: z.string().nullable(),
      userAgent: z.string().nullable(),
    }),
    user: User,
    workspaces,
  })
  .meta({ id: 'CurrentSession' })
export type CurrentSession = z.infer<typeof CurrentSession>

export const RequestPasswordReset = z.strictObject({
  email,
  redirectTo: z
    .string()
    .max(2048, 'must have at most 2048 characters')
    .optional()
    .meta({ description: 'The page that the email links to, on one of APP_ORIGINS; the token is added to its query' }),
})
export type RequestPasswordReset = z.infer<typeof RequestPasswordReset>

export const PasswordResetRequested = z.object({ status: z.literal(true), message: z.string() })
export type PasswordResetRequested = z.infer<typeof PasswordResetRequested>

export const ResetPassword = z.strictObject({ token: z.string().min(1, 'must not be empty').max(256), newPassword })
export type ResetPassword = z.infer<typeof ResetPassword>

export const PasswordReset = z.object({ status: z.literal(true) })
export type PasswordReset = z.infer<typeof PasswordReset>
