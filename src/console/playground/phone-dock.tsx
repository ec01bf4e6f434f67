import { useEffect, useRef } from 'react'
import { useRoute } from 'wouter'
import { Button } from '../kit/button.tsx'
import { useStoredState } from '../kit/stored-state.ts'
import { Problem } from '../kit/states.tsx'
import { useSession } from '../session/session.tsx'
import { ClockButtons } from './clock.tsx'
import { CustomerPhone } from './customer-phone.tsx'
import { useCustomer } from './use-customer.tsx'

type Props = {
  /** False if the page was loaded with the phone, which then does not take the focus. */
  hasFocus: boolean
  onClose: () => void
}

/** The phone of the playground beside another page: of the customer chosen before, or of the contact whose page it is. */
export default function PhoneDock({ hasFocus, onClose }: Props) {
  const { workspace } = useSession()
  const [chosen, choose] = useStoredState(`parley phone ${workspace?.id ?? ''}`)
  const [, ofPage] = useRoute('/contacts/:contactId')
  const played = useCustomer(chosen === '' ? (ofPage?.contactId ?? '') : chosen)
  const { isReady, conversation } = played
  const inputRef = useRef<HTMLInputElement>(null)
  useEffect(() => {
    if (hasFocus) inputRef.current?.focus()
  }, [isReady, hasFocus])
  return (
    <>
      <div className="dock-head">
        <h2>Phone</h2>
        <Button kind="quiet" small className="spread" aria-label="Close the phone" onClick={onClose}>
          ✕
        </Button>
        {conversation && (
          <div className="dock-clock">
            <ClockButtons conversationId={conversation.id} />
          </div>
        )}
      </div>
      <Problem error={played.error} />
      <CustomerPhone played={played} inputRef={inputRef} onChoose={choose} />
    </>
  )
}
