import { z } from 'zod'
import { mergeRouters, publicProcedure, router, sessionProcedure } from '../../trpc/procedures.ts'
import { rest } from '../../trpc/rest.ts'
import { empty } from '../../trpc/schemas.ts'
import { getSession, signOut } from './sessions/current-session.ts'
import { listSessions, revokeOtherSessions, revokeSession } from './sessions/own-sessions.ts'
import { changePassword } from './change-password.ts'
import { requestPasswordReset, resetPassword } from './reset-password.ts'
import * as schema from './schema.ts'
import { signIn } from './sign-in.ts'
import { signUp } from './sign-up.ts'
import { disableTwoFactor, enableTwoFactor, generateBackupCodes, getTotpUri } from './two-factor/enroll.ts'
import * as twoFactor from './two-factor/schema.ts'
import { verifyBackupCode, verifyTotp } from './two-factor/verify.ts'
import { updateUser } from './update-user.ts'

/** Operations of a signed-in user on the own account. */
const OWN = { tier: 'auth', withoutWorkspace: true } as const

const accountRouter = router({
  signUp: publicProcedure
    .meta(
      rest('POST', '/auth/sign-up/email', 'Create an account and its first workspace', {
        description: 'Signs in as well: the session cookie is set. The account owns the new workspace.',
        tier: 'signUp',
        public: true,
      }),
    )
    .input(schema.SignUp)
    .output(schema.SignedUp)
    .mutation(({ ctx, input }) => signUp(ctx, input)),

  signIn: publicProcedure
    .meta(
      rest('POST', '/auth/sign-in/email', 'Sign in', {
        description:
          'Sets the session cookie, and returns the workspaces of the account. After five failures this email address is locked for this client for 15 minutes. An account with a second factor gets `twoFactorRedirect` and no session: verify a code next.',
        tier: 'signIn',
        public: true,
      }),
    )
    .input(schema.SignIn)
    .output(z.union([schema.SignedIn, schema.TwoFactorRequired]))
    .mutation(({ ctx, input }) => signIn(ctx, input)),

  signOut: publicProcedure
    .meta(
      rest('POST', '/auth/sign-out', 'Sign out', {
        description:
          'Ends the session of the cookie in all processes, also in a request with an API key. Has no effect without a session.',
        tier: 'auth',
        public: true,
      }),
    )
    .input(schema.SignOut)
    .output(schema.SignedOut)
    .mutation(({ ctx }) => signOut(ctx)),

  getSession: publicProcedure
    .meta(
      rest('GET', '/auth/get-session', 'Get the current session', {
        description: 'Returns the user and the workspaces of the session cookie, or null without a valid session.',
        tier: 'auth',
        public: true,
      }),
    )
    .output(schema.CurrentSession.nullable())
    .query(({ ctx }) => getSession(ctx)),

  forgetPassword: publicProcedure
    .meta(
      rest('POST', '/auth/forget-password', 'Request a password reset', {
        description: 'Sends an email with a link if an account exists. The answer is the same if none does.',
        tier: 'forgot',
        public: true,
      }),
    )
    .input(schema.RequestPasswordReset)
    .output(schema.PasswordResetRequested)
    .mutation(({ ctx, input }) => requestPasswordReset(ctx, input)),

  requestPasswordReset: publicProcedure
    .meta(
      rest('POST', '/auth/request-password-reset', 'Request a password reset (alias)', {
        description: 'The same operation as `POST /api/auth/forget-password`.',
        tier: 'forgot',
        public: true,
      }),
    )
    .input(schema.RequestPasswordReset)
    .output(schema.PasswordResetRequested)
    .mutation(({ ctx, input }) => requestPasswordReset(ctx, input)),

  resetPassword: publicProcedure
    .meta(
      rest('POST', '/auth/reset-password', 'Reset a password', {
        description: 'Sets a new password with the token of the emailed link, and ends all sessions of the account.',
        tier: 'reset',
        public: true,
      }),
    )
    .input(schema.ResetPassword)
    .output(schema.Done)
    .mutation(({ ctx, input }) => resetPassword(ctx, input)),

  changePassword: sessionProcedure
    .meta(
      rest('POST', '/auth/change-password', 'Change the password', {
        ...OWN,
        description:
          'Returns 400 with the code `invalid_password` if the current password is wrong, which counts as a failed sign-in. Sessions go on unless `revokeOtherSessions` is set.',
      }),
    )
    .input(schema.ChangePassword)
    .output(schema.PasswordChanged)
    .mutation(({ ctx, input }) => changePassword(ctx, input)),

  listSessions: sessionProcedure
    .meta(
      rest('GET', '/auth/list-sessions', 'List the sessions of the account', {
        ...OWN,
        description:
          'Returns the 100 newest valid sessions. The `token` of each is its ID; no answer has a secret token.',
      }),
    )
    .output(z.array(schema.OwnSession))
    .query(({ ctx }) => listSessions(ctx)),

  revokeSession: sessionProcedure
    .meta(
      rest('POST', '/auth/revoke-session', 'End a session', {
        ...OWN,
        description: 'Ends a session of the account. The answer is the same if there is none with this ID.',
        example: { token: '0199a7a0-0000-7000-8000-000000000001' },
      }),
    )
    .input(schema.RevokeSession)
    .output(schema.Done)
    .mutation(({ ctx, input }) => revokeSession(ctx, input)),

  revokeOtherSessions: sessionProcedure
    .meta(
      rest('POST', '/auth/revoke-other-sessions', 'End all other sessions', {
        ...OWN,
        description: 'Ends all sessions of the account but that of the request.',
      }),
    )
    .input(empty.strict().optional())
    .output(schema.Done)
    .mutation(({ ctx }) => revokeOtherSessions(ctx)),

  updateUser: sessionProcedure
    .meta(
      rest('POST', '/auth/update-user', 'Update the account', {
        ...OWN,
        description: 'Changes name and image. Fields that are left out stay as they are.',
      }),
    )
    .input(schema.UpdateUser)
    .output(schema.Done)
    .mutation(({ ctx, input }) => updateUser(ctx, input)),
})

/** Operations that complete a sign-in. */
const SIGN_IN = { tier: 'auth', public: true } as const

const ENABLE =
  'Returns the secret of an authenticator app and recovery codes. Signing in needs a code from the time on at which the first one was verified. Returns 409 with the code `two_factor_already_enabled` if it does so already.'

const VERIFY_TOTP =
  'Completes a sign-in that was answered with `twoFactorRedirect`, within 10 minutes: the session cookie is set. With a session, the first code enables the second factor and ends the other sessions. A code works once. Wrong codes lock the account for this client as wrong passwords do.'

/** Procedures about the second factor, under the paths of better-auth. Its changes need the password again. */
const twoFactorRouter = router({
  enableTwoFactor: sessionProcedure
    .meta(rest('POST', '/auth/two-factor/enable', 'Start a second factor', { ...OWN, description: ENABLE }))
    .input(twoFactor.EnableTwoFactor)
    .output(twoFactor.TwoFactorStarted)
    .mutation(({ ctx, input }) => enableTwoFactor(ctx, input)),

  disableTwoFactor: sessionProcedure
    .meta(
      rest('POST', '/auth/two-factor/disable', 'Disable the second factor', {
        ...OWN,
        description: 'Signing in needs the password only. Other sessions end. Has no effect without a second factor.',
      }),
    )
    .input(twoFactor.OwnPassword)
    .output(schema.Done)
    .mutation(({ ctx, input }) => disableTwoFactor(ctx, input)),

  getTotpUri: sessionProcedure
    .meta(
      rest('POST', '/auth/two-factor/get-totp-uri', 'Get the secret of the second factor', {
        ...OWN,
        description: 'Returns the secret again, for another authenticator app.',
      }),
    )
    .input(twoFactor.OwnPassword)
    .output(twoFactor.TotpUri)
    .mutation(({ ctx, input }) => getTotpUri(ctx, input)),

  generateBackupCodes: sessionProcedure
    .meta(
      rest('POST', '/auth/two-factor/generate-backup-codes', 'Replace the recovery codes', {
        ...OWN,
        description: 'Former recovery codes no longer work.',
      }),
    )
    .input(twoFactor.OwnPassword)
    .output(twoFactor.BackupCodes)
    .mutation(({ ctx, input }) => generateBackupCodes(ctx, input)),

  verifyTotp: publicProcedure
    .meta(rest('POST', '/auth/two-factor/verify-totp', 'Verify a code', { ...SIGN_IN, description: VERIFY_TOTP }))
    .input(twoFactor.VerifyCode)
    .output(twoFactor.Verified)
    .mutation(({ ctx, input }) => verifyTotp(ctx, input)),

  verifyBackupCode: publicProcedure
    .meta(
      rest('POST', '/auth/two-factor/verify-backup-code', 'Verify a recovery code', {
        ...SIGN_IN,
        description: 'Completes a sign-in as a code of the app does. A recovery code works once.',
      }),
    )
    .input(twoFactor.VerifyCode)
    .output(twoFactor.Verified)
    .mutation(({ ctx, input }) => verifyBackupCode(ctx, input)),
})

/** Procedures of the namespace `auth`. */
export const authRouter = mergeRouters(accountRouter, twoFactorRouter)
