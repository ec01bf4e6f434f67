import { type ReactNode, useEffect, useId, useRef } from 'react'
import { Button } from './button.tsx'

type Props = { title: string; onClose: () => void; children: ReactNode; className?: string }

/** A modal dialog while it is rendered. Escape closes it, and the focus returns to where it was. */
export function Dialog({ title, onClose, children, className }: Props) {
  const ref = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => {
    const before = document.activeElement
    const dialog = ref.current
    dialog?.showModal()
    // Opening moves the focus to the first button.
    dialog?.querySelector<HTMLElement>('[data-autofocus]')?.focus()
    return () => {
      dialog?.close()
      if (before instanceof HTMLElement) before.focus()
    }
  }, [])
  return (
    <dialog
      ref={ref}
      className={className}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault()
        onClose()
      }}
      onClick={(event) => event.target === ref.current && onClose()}
    >
      <header>
        <h2 id={id}>{title}</h2>
        <Button kind="quiet" small className="spread" aria-label="Close" onClick={onClose}>
          ✕
        </Button>
      </header>
      {children}
    </dialog>
  )
}
