import { isParleyError } from '@parley/client'
import type { ReactNode } from 'react'
import { Copy } from './copy.tsx'

/** A failure: its reason, what to change if the server says so, and the ID of the request. */
export function Problem({ error }: { error: unknown }) {
  if (error === null || error === undefined) return null
  const data = isParleyError(error) ? error.data : undefined
  const requestId = data && 'requestId' in data ? String(data.requestId) : undefined
  return (
    <div className="problem" role="alert">
      <strong>{isParleyError(error) && !error.data ? 'The server does not answer' : toMessage(error)}</strong>
      {isParleyError(error) && !error.data && <span>Check that it runs. This page tries again by itself.</span>}
      {data?.httpStatus === 404 && (
        <span>It may have been deleted, or it belongs to another workspace. Check the address and the workspace.</span>
      )}
      {requestId !== undefined && (
        <span className="muted">
          Request <Copy text={requestId} label="request ID" />
        </span>
      )}
    </div>
  )
}

export function toMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** Takes the place of what is being read, and is visible only if that takes a while. */
export function Loading({ height = 120 }: { height?: number }) {
  return <div className="skeleton" style={{ height }} role="status" aria-label="Loading" />
}

/** Says what a page is for and offers one action. */
export function Empty({ title, children, action }: { title: string; children?: ReactNode; action?: ReactNode }) {
  return (
    <div className="empty">
      <h2>{title}</h2>
      {children && <p>{children}</p>}
      {action}
    </div>
  )
}

type Query<T> = { data: T | undefined; error: unknown; isPending: boolean }

/** Shows the data of a query, or that it is read, or why it is not there. */
export function Loaded<T>({
  query,
  height,
  children,
}: {
  query: Query<T>
  height?: number
  children: (data: T) => ReactNode
}) {
  if (query.data !== undefined) return children(query.data)
  return query.error ? <Problem error={query.error} /> : <Loading {...(height === undefined ? {} : { height })} />
}
