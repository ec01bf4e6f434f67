'use client'

import type { QueryClient } from '@tanstack/react-query'
import { createTRPCOptionsProxy, type TRPCOptionsProxy } from '@trpc/tanstack-react-query'
import { createContext, type ReactNode, useContext, useEffect, useMemo, useRef } from 'react'
import { followInBrowser, type StreamItem, type StreamState } from './browser-stream.ts'
import type { ParleyClient, ParleyError, ParleyEvent } from './client.ts'
import { QueryUpdates } from './query-cache.ts'
import type { AppRouter } from './server.ts'

type Parley = { trpc: TRPCOptionsProxy<AppRouter>; client: ParleyClient; live: LiveEvents | null }

const ParleyContext = createContext<Parley | null>(null)

export type ParleyProviderProps = {
  client: ParleyClient
  queryClient: QueryClient
  /** The workspace whose events are followed; null without one, such as before a sign-in. */
  tenantId: string | null
  children?: ReactNode
}

/** Makes a client available to the components below it. */
export function ParleyProvider({ client, queryClient, tenantId, children }: ParleyProviderProps): ReactNode {
  const value = useMemo(() => {
    const trpc = createTRPCOptionsProxy<AppRouter>({ client, queryClient })
    return { trpc, client, live: tenantId === null ? null : new LiveEvents(client, queryClient, tenantId) }
  }, [client, queryClient, tenantId])
  return <ParleyContext.Provider value={value}>{children}</ParleyContext.Provider>
}

function useParleyContext(): Parley {
  const parley = useContext(ParleyContext)
  if (!parley) throw new Error('There is no ParleyProvider above this component')
  return parley
}

/** Returns the options of queries and mutations: `useQuery(useParley().contacts.list.queryOptions({ limit: 5 }))`. */
export function useParley(): TRPCOptionsProxy<AppRouter> {
  return useParleyContext().trpc
}

/** Returns the client, for calls outside of queries. */
export function useParleyClient(): ParleyClient {
  return useParleyContext().client
}

export type ParleyEventHandlers = {
  /** Called for each event. The cache is kept current without it. */
  onEvent?: (event: ParleyEvent) => void
  /** Called with the state of the connection that all tabs share, and when it changes: show others than `live`. */
  onState?: (state: 'live' | 'connecting') => void
  /** Called when the server ends the stream; after 401 and 403 it is not opened again, so show the sign-in. */
  onError?: (error: ParleyError) => void
}

/**
 * Keeps the queries of the cache current while a component is shown, by the events of the workspace. All components and tabs
 * of a browser share one connection.
 */
export function useParleyEvents(handlers: ParleyEventHandlers = {}): void {
  const { live } = useParleyContext()
  const latest = useRef(handlers)
  useEffect(() => {
    latest.current = handlers
  })
  useEffect(
    () =>
      live?.add({
        onEvent: (event) => latest.current.onEvent?.(event),
        onState: (state) => latest.current.onState?.(state),
        onError: (error) => latest.current.onError?.(error),
      }),
    [live],
  )
}

/** The events of a workspace, followed while somebody listens. */
class LiveEvents {
  readonly #listeners = new Set<ParleyEventHandlers>()
  readonly #start: () => () => void
  #stop: (() => void) | undefined
  #state: StreamState = 'connecting'

  constructor(client: ParleyClient, queryClient: QueryClient, tenantId: string) {
    this.#start = () => {
      const updates = new QueryUpdates(queryClient)
      const end = followInBrowser(client, tenantId, {
        onItem: (item) => this.#publish(item, updates),
        onState: (state) => {
          this.#state = state
          this.#listeners.forEach(({ onState }) => onState?.(state))
        },
        onError: (error) => this.#listeners.forEach(({ onError }) => onError?.(error)),
      })
      return () => {
        end()
        updates.stop()
      }
    }
  }

  /** Returns a function that removes the listener. */
  add(listener: ParleyEventHandlers): () => void {
    this.#listeners.add(listener)
    this.#stop ??= this.#start()
    listener.onState?.(this.#state)
    return () => {
      this.#listeners.delete(listener)
      if (this.#listeners.size > 0) return
      this.#stop?.()
      this.#stop = undefined
    }
  }

  #publish(item: StreamItem, updates: QueryUpdates): void {
    updates.add(item)
    if (item.type === 'event') for (const { onEvent } of this.#listeners) onEvent?.(item.event)
  }
}
