import type { ButtonHTMLAttributes } from 'react'

type Props = ButtonHTMLAttributes<HTMLButtonElement> & {
  kind?: 'primary' | 'danger' | 'quiet' | undefined
  small?: boolean
}

export function Button({ kind, small = false, className = '', type = 'button', ...others }: Props) {
  const classes = ['button', kind ?? '', small ? 'small' : '', className].filter(Boolean).join(' ')
  return <button type={type} className={classes} {...others} />
}
