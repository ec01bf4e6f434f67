export type Person = { id: string; name: string; phone: string | null }

/** Stands for a customer who has never written. */
export const NEW_CUSTOMER_ID = 'new'

/** Numbers of this range belong to nobody. */
const FICTIONAL = '+447700900'
const FICTIONAL_COUNT = 1000

/** Returns a customer with a number that none of these people has. */
export function toNewCustomer(people: readonly Person[]): { phone: string; name: string } {
  const used = new Set(people.map(({ phone }) => phone))
  const numbers = Array.from({ length: FICTIONAL_COUNT }, (_, index) => FICTIONAL + String(index).padStart(3, '0'))
  return { phone: numbers.find((phone) => !used.has(phone)) ?? FICTIONAL + '000', name: 'New customer' }
}

/** Those who wrote last come first. */
export function listPeople(
  conversations: readonly { contact: Person; channelType: string }[],
  contacts: readonly Person[],
): Person[] {
  const wrote = conversations.filter(({ channelType }) => channelType === 'sandbox').map(({ contact }) => contact)
  const reachable = [...wrote, ...contacts].filter(({ phone }) => phone !== null)
  return [...new Map(reachable.map(({ id, name, phone }) => [id, { id, name, phone }])).values()]
}

/** Chooses who writes. */
export function ContactPicker({
  people,
  contactId,
  onChoose,
}: {
  people: readonly Person[]
  contactId: string
  onChoose: (contactId: string) => void
}) {
  const isListed = contactId === NEW_CUSTOMER_ID || people.some(({ id }) => id === contactId)
  return (
    <select aria-label="Customer" value={contactId} onChange={(event) => onChoose(event.target.value)}>
      {!isListed && <option value={contactId}>The chosen contact</option>}
      {people.map(({ id, name, phone }) => (
        <option key={id} value={id}>
          {name} · {phone}
        </option>
      ))}
      <option value={NEW_CUSTOMER_ID}>A new customer</option>
    </select>
  )
}
