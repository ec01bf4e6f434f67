import { type ReactNode, useEffect } from 'react'

/** A page with its title, which the window has as well. */
export function Page({
  title,
  aside,
  actions,
  children,
}: {
  title: string
  /** Beside the title, such as a status. */
  aside?: ReactNode
  actions?: ReactNode
  children: ReactNode
}) {
  useEffect(() => {
    document.title = `${title} · Parley`
  }, [title])
  return (
    <div className="page">
      <div className="page-head">
        <h1>{title}</h1>
        {aside}
        {actions && <div className="actions">{actions}</div>}
      </div>
      {children}
    </div>
  )
}

/** A value as JSON. */
export function Json({ value, label }: { value: unknown; label: string }) {
  return (
    <pre className="json" tabIndex={0} role="region" aria-label={label}>
      {value === undefined ? 'nothing' : JSON.stringify(value, null, 2)}
    </pre>
  )
}
