import { type KeyboardEvent, memo, useRef, useState } from 'react'
import { useLocation } from 'wouter'
import { Status } from '../kit/status.tsx'
import { Time } from '../kit/time.tsx'
import { findReason, type Recipient, toSign } from './broadcast-words.ts'

function toName({ contact, address }: Recipient): string {
  return contact?.name ?? address ?? 'Deleted contact'
}

/**
 * One cell for each recipient. Tab reaches one of them, and the arrow keys the others. The person of the cell under the
 * pointer or the focus is shown below, and a click or Enter opens the contact.
 */
export function Cells({ recipients }: { recipients: readonly Recipient[] }) {
  const box = useRef<HTMLDivElement>(null)
  const [current, setCurrent] = useState('')
  const [, go] = useLocation()
  const shown = recipients.find(({ id }) => id === current)
  const reachable = shown?.id ?? recipients[0]?.id
  const toElementId = (target: EventTarget) =>
    target instanceof HTMLElement ? (target.dataset['recipient'] ?? '') : ''
  const move = (event: KeyboardEvent) => {
    const next = findNext(box.current, event)
    if (!next) return
    event.preventDefault()
    next.focus()
  }
  return (
    <>
      <div
        ref={box}
        className="cells card-body"
        role="group"
        aria-label="Recipients. Arrow keys move between them, Enter opens the contact"
        onKeyDown={move}
        onFocus={({ target }) => setCurrent(toElementId(target))}
        onMouseOver={({ target }) => toElementId(target) !== '' && setCurrent(toElementId(target))}
        onClick={({ target }) => {
          const clicked = recipients.find(({ id }) => id === toElementId(target))
          if (clicked?.contact) go(`/contacts/${clicked.contactId}`)
        }}
      >
        {recipients.map((recipient) => (
          <Cell
            key={recipient.id}
            id={recipient.id}
            status={recipient.status}
            name={toName(recipient)}
            isReachable={recipient.id === reachable}
          />
        ))}
      </div>
      <div className="cell-person">{shown ? <Person recipient={shown} /> : <Hint />}</div>
    </>
  )
}

type CellProps = { id: string; status: Recipient['status']; name: string; isReachable: boolean }

const Cell = memo(function Cell({ id, status, name, isReachable }: CellProps) {
  return (
    <button
      type="button"
      className={`cell is-${status}`}
      data-recipient={id}
      tabIndex={isReachable ? 0 : -1}
      aria-label={`${name}: ${status}`}
      title={`${name}: ${status}`}
    >
      {toSign(status)}
    </button>
  )
})

function Hint() {
  return <span className="muted">Point at a cell to see the person. A click opens the contact.</span>
}

function Person({ recipient }: { recipient: Recipient }) {
  const { status, address, readAt, deliveredAt, sentAt, failedAt, repliedAt, optedOutAt } = recipient
  const at = readAt ?? failedAt ?? deliveredAt ?? sentAt
  const reason = findReason(recipient)
  return (
    <>
      <strong>{toName(recipient)}</strong>
      {address !== null && <span className="mono">{address}</span>}
      <Status status={status} />
      {at !== null && (
        <small className="muted">
          <Time at={at} />
        </small>
      )}
      {reason && <span>{reason.words}</span>}
      {repliedAt !== null && <span>replied</span>}
      {optedOutAt !== null && <span>opted out</span>}
    </>
  )
}

/** The cell to which an arrow key leads; undefined for other keys and at the edge. */
function findNext(box: HTMLElement | null, { key, target }: KeyboardEvent): HTMLElement | undefined {
  const cells = box ? [...box.querySelectorAll<HTMLElement>('[data-recipient]')] : []
  const index = cells.findIndex((cell) => cell === target)
  const top = cells[0]?.offsetTop
  const columns = Math.max(1, cells.filter(({ offsetTop }) => offsetTop === top).length)
  const steps: Readonly<Record<string, number>> = {
    ArrowRight: 1,
    ArrowLeft: -1,
    ArrowDown: columns,
    ArrowUp: -columns,
    Home: -index,
    End: cells.length - 1 - index,
  }
  const step = steps[key]
  return step === undefined || index < 0 ? undefined : cells[index + step]
}
