import { lazy, Suspense, useEffect, useRef, useState } from 'react'
import { Boundary } from '../kit/boundary.tsx'
import { useStoredState } from '../kit/stored-state.ts'
import { Loading } from '../kit/states.tsx'
import '../styles/dock.css'

const PhoneDock = lazy(() => import('../playground/phone-dock.tsx'))

export type DockState = {
  isOpen: boolean
  hasFocus: boolean
  /** Undefined on the playground, which is a phone itself. */
  toggle: (() => void) | undefined
}

/** The state of the phone beside the page, which stays open on other pages and when the page is loaded again. */
export function useDock(isPlayground: boolean): DockState {
  const [stored, setStored] = useStoredState('parley phone')
  const [hasFocus, setHasFocus] = useState(false)
  const before = useRef<Element>(null)
  const isOpen = stored !== '' && !isPlayground
  // The phone is there again after the playground, but the page is what the user asked for.
  useEffect(() => {
    if (isPlayground) setHasFocus(false)
  }, [isPlayground])
  const toggle = () => {
    if (!isOpen) before.current = document.activeElement
    else if (document.activeElement?.closest('.dock') && before.current instanceof HTMLElement) before.current.focus()
    setHasFocus(!isOpen)
    setStored(isOpen ? '' : 'open')
  }
  return { isOpen, hasFocus, toggle: isPlayground ? undefined : toggle }
}

/** The place of the phone. */
export function Dock({ isOpen, hasFocus, toggle }: DockState) {
  if (!isOpen || !toggle) return null
  return (
    <aside
      className="dock"
      aria-label="Phone"
      onKeyDown={(event) => {
        if (event.key !== 'Escape' || event.nativeEvent.isComposing) return
        event.preventDefault()
        toggle()
      }}
    >
      <Boundary>
        <Suspense fallback={<Loading height={320} />}>
          <PhoneDock hasFocus={hasFocus} onClose={toggle} />
        </Suspense>
      </Boundary>
    </aside>
  )
}
