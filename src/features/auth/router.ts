import { publicProcedure, router } from '../../trpc/procedures.ts'
import { rest } from '../../trpc/rest.ts'
import { getSession, signOut } from './sessions/current-session.ts'
import { requestPasswordReset, resetPassword } from './reset-password.ts'
import * as schema from './schema.ts'
import { signIn } from './sign-in.ts'
import { signUp } from './sign-up.ts'

export const authRouter = router({
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
          'Sets the session cookie, and returns the workspaces of the account. After five failures this email address is locked for this client for 15 minutes.',
        tier: 'signIn',
        public: true,
      }),
    )
    .input(schema.SignIn)
    .output(schema.SignedIn)
    .mutation(({ ctx, input }) => signIn(ctx, input)),

  signOut: publicProcedure
    .meta(
      rest('POST', '/auth/sign-out', 'Sign out', {
        description: 'Ends the session of the cookie in all processes. Has no effect without a session.',
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
    .output(schema.PasswordReset)
    .mutation(({ ctx, input }) => resetPassword(ctx, input)),
})
