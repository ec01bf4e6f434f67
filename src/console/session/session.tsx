import { createParleyClient, isParleyError, type ParleyClient, type RouterOutputs } from '@parley/client'
import { ParleyProvider } from '@parley/client/react'
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { toMessage } from '../kit/states.tsx'
import { forgetStored, readStored, store } from '../kit/storage.ts'
import { toast } from '../kit/toasts.tsx'
import { createContext, type ReactNode, useContext, useEffect, useMemo, useState } from 'react'

type Identity = NonNullable<RouterOutputs['auth']['getSession']>
export type Workspace = Identity['workspaces'][number]

export type Session = {
  client: ParleyClient
  /** Undefined until the server has said who is signed in; null if nobody is. */
  identity: Pick<Identity, 'user' | 'workspaces'> | null | undefined
  /** The chosen workspace; null without a session, or if the user belongs to none. */
  workspace: Workspace | null
  choose: (workspaceId: string) => void
  /**
   * Asks the server who is signed in. Returns false if nobody is, as after a sign-in whose cookie the browser dropped.
   * @throws ParleyError if the server does not say it
   */
  refresh: () => Promise<boolean>
  signOut: () => Promise<void>
  /** The reason for which the server could not be asked. */
  problem: unknown
}

const SessionContext = createContext<Session | null>(null)
const WORKSPACE = 'parley workspace'
const USER = 'parley user'
const RETRY_MS = 5_000

export function useSession(): Session {
  const session = useContext(SessionContext)
  if (!session) throw new Error('There is no SessionProvider above this component')
  return session
}

function createQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        // Events keep the cache current, so nothing is read again because of its age or when a window is shown.
        staleTime: Infinity,
        refetchOnWindowFocus: false,
        retry: (count, error) => count < 3 && isParleyError(error) && !error.data,
      },
    },
  })
}

/** Makes the session, and with a workspace its client and its events, available to the components below. */
export function SessionProvider({ children }: { children: ReactNode }) {
  const [identity, setIdentity] = useState<Session['identity']>()
  const [workspaceId, setWorkspaceId] = useState(() => readStored(WORKSPACE))
  const [problem, setProblem] = useState<unknown>()
  const workspace = identity?.workspaces.find(({ id }) => id === workspaceId) ?? identity?.workspaces[0] ?? null
  const tenantId = workspace?.id ?? null
  const client = useMemo(
    () => createParleyClient({ url: location.origin, tenantId: () => tenantId ?? undefined }),
    [tenantId],
  )
  // Nothing that was read for another workspace or user is shown.
  const queryClient = useMemo(createQueryClient, [tenantId, identity?.user.id])
  const session = useMemo<Session>(() => {
    const refresh = async () => {
      try {
        const found = await client.auth.getSession.query()
        if (found) takeOver(found.user.id)
        setIdentity(found)
        setProblem(undefined)
        return found !== null
      } catch (error) {
        setProblem(error)
        throw error
      }
    }
    return {
      client,
      identity,
      workspace,
      problem,
      refresh,
      choose: (id) => {
        store(WORKSPACE, id)
        setWorkspaceId(id)
      },
      signOut: () => signOut(client),
    }
  }, [client, identity, workspace, problem])
  useEffect(() => {
    if (identity !== undefined) return
    // Again if the server did not answer, or has answered too often.
    const timer = setTimeout(() => void session.refresh().catch(() => undefined), problem === undefined ? 0 : RETRY_MS)
    return () => clearTimeout(timer)
    // oxlint-disable-next-line react-hooks/exhaustive-deps -- later changes of the session are made by this page
  }, [problem])
  return (
    <SessionContext.Provider value={session}>
      {/* Queries keep their client, so that those of another workspace begin again. */}
      <QueryClientProvider key={tenantId} client={queryClient}>
        <ParleyProvider client={client} queryClient={queryClient} tenantId={tenantId}>
          {children}
        </ParleyProvider>
      </QueryClientProvider>
    </SessionContext.Provider>
  )
}

/** The person of this page, also after the session has ended. */
let lastUserId: string | null = null

/** Another person at this browser finds no texts of the last one, neither stored nor in memory. */
function takeOver(userId: string): void {
  const before = lastUserId ?? readStored(USER)
  lastUserId = userId
  store(USER, userId)
  if (before !== null && before !== userId) forgetTexts()
}

function forgetTexts(): void {
  forgetStored(/^parley (?:draft|unsent|phone) /)
  location.reload()
}

async function signOut(client: ParleyClient): Promise<void> {
  try {
    await client.auth.signOut.mutate()
  } catch (error) {
    const data = isParleyError(error) ? error.data : undefined
    if (data?.httpStatus !== 401)
      return toast(
        data
          ? `You are still signed in. ${toMessage(error)}`
          : 'You may still be signed in. The server does not answer',
      )
  }
  forgetTexts()
}
