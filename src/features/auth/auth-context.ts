import type { RequestContext } from '../../trpc/context.ts'

/** The part of a request that authentication needs: its origin, its session and the services for signing in. */
export type AuthContext = Pick<
  RequestContext,
  'system' | 'log' | 'auth' | 'caller' | 'sessionToken' | 'twoFactorToken' | 'client' | 'setHeader'
>
