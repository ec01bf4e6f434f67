import type { RefObject } from 'react'
import { Loading } from '../kit/states.tsx'
import { Phone } from '../phone/phone.tsx'
import { Window } from './clock.tsx'
import { ContactPicker } from './contact-picker.tsx'
import type { Customer } from './use-customer.tsx'

const SUGGESTIONS = ['Where is my order?', '4711', 'Remove me']

type Props = {
  played: Customer
  inputRef: RefObject<HTMLInputElement | null>
  onChoose: (contactId: string) => void
}

/** The phone of the customer who is played, with the choice of another one. */
export function CustomerPhone({ played, inputRef, onChoose }: Props) {
  const { isReady, people, contactId, customer, conversation, isAnswering } = played
  if (!isReady) return <Loading height={520} />
  return (
    <Phone
      key={contactId}
      customer={customer}
      conversation={conversation}
      isAnswering={isAnswering}
      suggestions={SUGGESTIONS}
      inputRef={inputRef}
      onSent={(message) => onChoose(message.contactId)}
    >
      <ContactPicker people={people} contactId={contactId} onChoose={onChoose} />
      <Window conversation={conversation} />
    </Phone>
  )
}
