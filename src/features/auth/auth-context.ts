import type { RequestContext } from '../../trpc/context.ts'

/** Somebody at the door: where they come from, who they were so far, and what lets them in. */
export type AuthContext = Pick<RequestContext, 'system' | 'auth' | 'caller' | 'client' | 'setHeader'>
