import type { ReactNode } from 'react'

/** Scrolls something that is wider than the page, such as a table, by itself, also by keys. */
export function TableScroll({
  label,
  className,
  children,
}: {
  label: string
  className?: string
  children: ReactNode
}) {
  const classes = className === undefined ? 'table-scroll' : `${className} table-scroll`
  return (
    <div className={classes} tabIndex={0} role="region" aria-label={label}>
      {children}
    </div>
  )
}
