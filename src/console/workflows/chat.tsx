import { type FormEvent, useEffect, useRef, useState } from 'react'
import { isObject, toText } from '../kit/narrow.ts'
import { Button } from '../kit/button.tsx'
import { formatDuration } from '../kit/time.tsx'
import type { Simulation } from './dialogue.ts'

type Line = Simulation['transcript'][number]

const GAP_MS = 60_000
const PEOPLE = { customer: 'Customer', workflow: 'Workflow', system: 'System' } as const

/** The messages of a simulated dialogue, with the buttons of the last one to tap. */
export function Chat({ lines, onTap }: { lines: readonly Line[]; onTap: (title: string) => void }) {
  const ref = useRef<HTMLOListElement>(null)
  useEffect(() => {
    ref.current?.scrollTo({ top: ref.current.scrollHeight })
  }, [lines])
  return (
    <ol className="chat" ref={ref} tabIndex={0} aria-label="Dialogue">
      {lines.map((line, index) => {
        const before = lines[index - 1]
        const gapMs = before ? new Date(line.at).getTime() - new Date(before.at).getTime() : 0
        return (
          // The lines of a simulation have no IDs, and are replaced as a whole.
          <li key={index} className={`chat-line from-${line.from}`}>
            {gapMs >= GAP_MS && <p className="chat-gap">{formatDuration(gapMs)} later</p>}
            <div className="bubble">
              <span className="visually-hidden">{PEOPLE[line.from]}: </span>
              {line.body ?? <em>no text</em>}
            </div>
            <Options buttons={line.buttons} isOpen={index === lines.length - 1} onTap={onTap} />
          </li>
        )
      })}
    </ol>
  )
}

export function toTitles(buttons: readonly unknown[]): string[] {
  return buttons.flatMap((button) => (isObject(button) ? (toText(button['title']) ?? []) : []))
}

function Options({
  buttons,
  isOpen,
  onTap,
}: {
  buttons: Line['buttons']
  isOpen: boolean
  onTap: (title: string) => void
}) {
  const titles = toTitles(buttons)
  if (titles.length === 0) return null
  return (
    <div className="chat-buttons">
      {titles.map((title) => (
        <Button key={title} small disabled={!isOpen} onClick={() => onTap(title)}>
          {title}
        </Button>
      ))}
    </div>
  )
}

const WAITS = ['10m', '1h', '24h', '7d']

type ComposerProps = { onMessage: (body: string) => void; onAdvance: (by: string) => void }

/** Writes as the customer, or lets time pass. */
export function Composer({ onMessage, onAdvance }: ComposerProps) {
  const [body, setBody] = useState('')
  const [wait, setWait] = useState('1h')
  const send = (event: FormEvent) => {
    event.preventDefault()
    if (body.trim() === '') return
    onMessage(body)
    setBody('')
  }
  return (
    <div className="composer">
      <form className="row" onSubmit={send}>
        <input
          aria-label="Message of the customer"
          placeholder="Write as the customer"
          maxLength={4096}
          autoComplete="off"
          value={body}
          onChange={(event) => setBody(event.target.value)}
        />
        <Button kind="primary" type="submit">
          Send
        </Button>
      </form>
      <div className="row">
        <label className="row">
          Let time pass
          <select value={wait} onChange={(event) => setWait(event.target.value)}>
            {WAITS.map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        </label>
        <Button small onClick={() => onAdvance(wait)}>
          Advance
        </Button>
      </div>
    </div>
  )
}
